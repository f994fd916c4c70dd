/**
 * Whether who logs in is the device it says. Unknown device, wrong proof, disabled and expired are one word and one
 * time, so that ids can't be probed. Source: sleep-wire.md, Refusals; signal-wire.md.
 */
import { timingSafeEqual } from 'node:crypto';
import type { DeviceId } from '../../model/ids.ts';
import { isInService } from '../../model/registry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { secretMark } from './secret-mark.ts';

/** What an unknown device's proof is checked against: the same work, and never right. */
const nobodysSecret = 'no device has this secret';

/** The mark of the secret that proves it, or null. `mac`: 32 bytes. Throws when the registry cannot be read. */
export function proveDevice(
  registry: RegistryReader,
  login: { readonly deviceId: DeviceId; readonly mac: Uint8Array },
  computeMac: (secret: string) => Buffer,
  nowS: number,
): number | null {
  const device = registry.peekDevice(login.deviceId);
  const proven = timingSafeEqual(computeMac(device?.secret ?? nobodysSecret), login.mac);
  return proven && device !== null && isInService(device, nowS) ? secretMark(device.secret) : null;
}
