/**
 * Disconnects devices: by an operator, at a drain, and after a change of the registry if the device is deleted, disabled or
 * expired, or has another secret than the one that proved its sessions. Source: signal-wire.md, Close codes; decisions.md,
 * Registry.
 */
import { type Clock, wallSeconds } from '../../lib/clock.ts';
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { isInService } from '../../model/registry.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import { RegistryReview } from './registry-review.ts';
import { secretMark } from './device-access.ts';

interface DisconnectDeps {
  readonly clock: Clock;
  readonly directory: DeviceDirectory;
}

type DisconnectReason = 'kicked' | 'drain';

export function disconnectDevice(
  { clock, directory }: DisconnectDeps,
  deviceId: DeviceId,
  reason: DisconnectReason,
): boolean {
  const actor = directory.find(deviceId);
  return actor !== null && disconnect(actor, clock.wallMs(), reason);
}

/** Denies the controller, and ends both sessions as kicked. */
function disconnectUnauthorized(clock: Clock, actor: DeviceActor): void {
  actor.connection('signal')?.deny();
  disconnect(actor, clock.wallMs(), 'kicked');
}

const bothKinds: readonly ConnectionKind[] = ['signal', 'sleep'];

export function disconnectEverybody(
  { clock, directory }: DisconnectDeps,
  reason: DisconnectReason,
  kinds = bothKinds,
): void {
  for (const actor of directory.actors()) disconnect(actor, clock.wallMs(), reason, kinds);
}

/** Ends both at once, because the actor is released only when it has neither. */
function disconnect(actor: DeviceActor, atMs: number, reason: DisconnectReason, kinds = bothKinds): boolean {
  for (const to of kinds) {
    const heartbeatAt = actor.heartbeatAt(to);
    if (!actor.post({ to, event: { kind: 'disconnect', reason, atMs, heartbeatAt } })) return false;
  }
  return true;
}

interface DeviceRightsDeps extends CoreDeps {
  readonly directory: DeviceDirectory;
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
