/**
 * Access to devices: by an application that names one, and by a device that logs in. Source: decisions.md, Order of checks;
 * sleep-wire.md, Refusals; signal-wire.md.
 */
import type { AccessCode } from '../../model/codes.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import type { LoginDenial } from '../../model/connectivity.ts';
import { isExpired, isInService, isOfApplication, type Device } from '../../model/registry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { timingSafeEqual } from 'node:crypto';

/**
 * Null: the application may access the device. The order is the same for all endpoints: exists (40403), belongs (40302), unexpired
 * (40304). A disabled device is answered like an unknown one. Throws when the registry cannot be read.
 */
export function checkDeviceAccess(
  registry: RegistryReader,
  appId: ApplicationId,
  deviceId: DeviceId,
  nowS: number,
): AccessCode | null {
  return checkAccess(registry, appId, registry.findDevice(deviceId), nowS);
}

/** Like `checkDeviceAccess`, for a device that is read already. */
export function checkAccess(
  registry: RegistryReader,
  appId: ApplicationId,
  device: Device | null,
  nowS: number,
): AccessCode | null {
  if (device === null || device.disabled) return 40403;
  const product = registry.findProduct(device.productId);
  if (!isOfApplication(product, appId)) return 40302;
  return isExpired(device, nowS) ? 40304 : null;
}

/** Secret for the proof of an unknown device: the same work, and never valid. */
const dummySecret = 'no device has this secret';

/**
 * Verifies a login's HMAC against the device's secret. Returns the mark of that secret, or the reason of the refusal, which is for
 * operators only. The device gets one word, after the same time, whether it is unknown, disabled, expired or has a wrong proof, so
 * that ids cannot be probed. `mac`: 32 bytes; `device` null: not in the registry.
 */
export function proveDevice(
  device: Device | null,
  mac: Uint8Array,
  computeMac: (secret: string) => Buffer,
  nowS: number,
): number | LoginDenial {
  const proven = timingSafeEqual(computeMac(device?.secret ?? dummySecret), mac);
  if (device === null) return 'unknown';
  if (!proven) return 'wrong_mac';
  if (isInService(device, nowS)) return secretMark(device.secret);
  return device.disabled ? 'disabled' : 'expired';
}

/**
 * Identifies the secret that proved a session in a number small enough for a million sleeping devices: it reveals a change of the
 * secret and nothing else. 32 bits, signed; two secrets collide once in 2^32. The same in all processes, because edges keep marks
 * for the next core. About 0.1 µs.
 */
export function secretMark(secret: string): number {
  let mark = secret.length;
  for (let at = 0; at < secret.length; at++) {
    mark = Math.imul(mark ^ secret.charCodeAt(at), 0x5bd1_e995);
    mark ^= mark >>> 15;
  }
  return mark | 0;
}
