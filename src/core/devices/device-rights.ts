/**
 * Whether the devices that are here may still be: after every change of the registry their sessions end, if the device
 * is gone, disabled or expired, or has another secret than the one that they were proven with.
 * Source: signal-wire.md, Close codes; decisions.md, Registry.
 */
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';
import { isInService } from '../../model/registry.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { disconnectUnauthorized } from './disconnect-device.ts';
import { RegistryReview } from './registry-review.ts';
import { secretMark } from './secret-mark.ts';

interface DeviceRightsDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly log: Log;
}

export function deviceReview(deps: DeviceRightsDeps): RegistryReview<DeviceActor> {
  const { clock, registry, directory } = deps;
  return new RegistryReview(deps, {
    all: () => directory.actors(),
    judge(actor) {
      const device = registry.peekDevice(actor.deviceId);
      const mayStay =
        device !== null &&
        isInService(device, wallSeconds(clock)) &&
        secretMark(device.secret) === actor.secretMark;
      if (!mayStay) disconnectUnauthorized(clock, actor);
      return !mayStay;
    },
  });
}
