/**
 * May this application speak of this device? The checks and their order are the same for every endpoint:
 * exists (40403), belongs (40302), unexpired (40304). A disabled device is answered like one that isn't there.
 * Source: decisions.md, Order of checks.
 */
import type { AccessCode } from '../../model/codes.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import { isExpired, type Device } from '../../model/registry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

/** Null: yes. Throws when the registry cannot be read. */
export function checkDeviceAccess(
  registry: RegistryReader,
  appId: ApplicationId,
  deviceId: DeviceId,
  nowS: number,
): AccessCode | null {
  return checkAccess(registry, appId, registry.findDevice(deviceId), nowS);
}

/** The same of a device as it was read. */
export function checkAccess(
  registry: RegistryReader,
  appId: ApplicationId,
  device: Device | null,
  nowS: number,
): AccessCode | null {
  if (device === null || device.disabled) return 40403;
  const product = registry.findProduct(device.productId);
  if (product === null || !product.appIds.includes(appId)) return 40302;
  return isExpired(device, nowS) ? 40304 : null;
}
