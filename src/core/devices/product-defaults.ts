/**
 * The defaults of a device's product: for its own controller, and for an application's request. Source: docs/registry.md, Defaults
 * of a product.
 */
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import type { MediaProfile, ProductDefaults } from '../../model/product-defaults.ts';
import { isOfApplication } from '../../model/registry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

/** For the device itself. Null: none. Throws when the registry cannot be read. */
export function findProductDefaults(registry: RegistryReader, deviceId: DeviceId): ProductDefaults | null {
  const device = registry.peekDevice(deviceId);
  return device === null ? null : (registry.findProduct(device.productId)?.defaults ?? null);
}

/** For an application's request. Null: none, or not visible to this application. Throws when the registry cannot be read. */
export function findMediaProfile(
  registry: RegistryReader,
  appId: ApplicationId,
  deviceId: DeviceId,
): MediaProfile | null {
  const device = registry.findDevice(deviceId);
  if (device === null || device.disabled) return null;
  const product = registry.findProduct(device.productId);
  return isOfApplication(product, appId) ? (product?.defaults?.media ?? null) : null;
}
