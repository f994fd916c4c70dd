/**
 * The defaults of a device's product: for its own controller, and for an application that speaks of it.
 * Source: docs/registry.md, Defaults of a product.
 */
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import type { MediaProfile, ProductDefaults } from '../../model/product-defaults.ts';
import { isOfApplication } from '../../model/registry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

/** For the device itself. Null: there are none. Throws when the registry cannot be read. */
export function findProductDefaults(registry: RegistryReader, deviceId: DeviceId): ProductDefaults | null {
  const device = registry.peekDevice(deviceId);
  return device === null ? null : (registry.findProduct(device.productId)?.defaults ?? null);
}

/**
 * For a request about the device. Null: there is none, or none that is this application's to know. Throws when the registry
 * cannot be read.
 */
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
