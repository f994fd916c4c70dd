/** Ends a device's sessions from our side, whoever holds them. */
import type { Clock } from '../../lib/clock.ts';
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { DeviceId } from '../../model/ids.ts';

interface ExpelHouse {
  readonly clock: Clock;
  readonly directory: DeviceDirectory;
}

/** What ends both kinds of session. */
type ExpelReason = 'kicked' | 'drain';

/** False: the device had no session here. */
export function expelDevice(
  { clock, directory }: ExpelHouse,
  deviceId: DeviceId,
  reason: ExpelReason,
): boolean {
  const actor = directory.find(deviceId);
  return actor !== null && expel(actor, clock.wallMs(), reason);
}

/** It lost its right to be here: its controller is told so, and its sessions end as kicked. */
export function expelUnauthorized(clock: Clock, actor: DeviceActor): void {
  actor.signalConnection?.deny();
  expel(actor, clock.wallMs(), 'kicked');
}

/** Every session of this process. */
export function expelEverybody({ clock, directory }: ExpelHouse, reason: ExpelReason): void {
  for (const actor of directory.actors()) expel(actor, clock.wallMs(), reason);
}

/** Both in one go: the actor is released only when it holds neither. */
function expel(actor: DeviceActor, atMs: number, reason: ExpelReason): boolean {
  const { sleepHeartbeatAt, signalHeartbeatAt } = actor;
  const signal = { kind: 'expel', reason, atMs, heartbeatAt: signalHeartbeatAt } as const;
  const sleep = { kind: 'expel', reason, atMs, heartbeatAt: sleepHeartbeatAt } as const;
  return actor.post({ to: 'signal', event: signal }) && actor.post({ to: 'sleep', event: sleep });
}
