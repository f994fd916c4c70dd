/**
 * Access to devices: an application that speaks of one, and a device that logs in.
 * Source: decisions.md, Order of checks; sleep-wire.md, Refusals; signal-wire.md.
 */
import type { AccessCode } from '../../model/codes.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import type { LoginDenial } from '../../model/connectivity.ts';
import { isExpired, isInService, isOfApplication, type Device } from '../../model/registry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { timingSafeEqual } from 'node:crypto';

/**
 * Null: this application may speak of this device. The order is the same for every endpoint: exists (40403), belongs
 * (40302), unexpired (40304). A disabled device is answered like one that isn't there. Throws when the registry cannot be read.
 */
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
  if (!isOfApplication(product, appId)) return 40302;
  return isExpired(device, nowS) ? 40304 : null;
}

/** What an unknown device's proof is checked against: the same work, and never right. */
const nobodysSecret = 'no device has this secret';

/**
 * Verifies a login's HMAC against the device's secret: the mark of that secret, or the reason of the refusal, which is for
 * operators alone. For the device, unknown device, wrong proof, disabled and expired are one word and one time, so that ids
 * can't be probed. `mac`: 32 bytes; `device` null: the registry does not have it.
 */
export function proveDevice(
  device: Device | null,
  mac: Uint8Array,
  computeMac: (secret: string) => Buffer,
  nowS: number,
): number | LoginDenial {
  const proven = timingSafeEqual(computeMac(device?.secret ?? nobodysSecret), mac);
  if (device === null) return 'unknown';
  if (!proven) return 'wrong_mac';
  if (isInService(device, nowS)) return secretMark(device.secret);
  return device.disabled ? 'disabled' : 'expired';
}

/**
 * Marks which secret a session was proven with, in a number that fits beside a million sleeping devices: a change of the
 * secret is seen by it, and nothing else is learnt from it. 32 bits, signed; of two secrets it is the same once in 2^32.
 * The same in every process, because edges keep marks for the next core. About 0.1 µs.
 */
export function secretMark(secret: string): number {
  let mark = secret.length;
  for (let at = 0; at < secret.length; at++) {
    mark = Math.imul(mark ^ secret.charCodeAt(at), 0x5bd1_e995);
    mark ^= mark >>> 15;
  }
  return mark | 0;
}
