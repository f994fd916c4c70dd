/** Ends a device's sessions from our side, whoever holds them. */
import type { Clock } from '../../lib/clock.ts';
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { DeviceId } from '../../model/ids.ts';

interface DisconnectDeps {
  readonly clock: Clock;
  readonly directory: DeviceDirectory;
}

/** What ends both kinds of session. */
type DisconnectReason = 'kicked' | 'drain';

/** False: the device had no session here. */
export function disconnectDevice(
  { clock, directory }: DisconnectDeps,
  deviceId: DeviceId,
  reason: DisconnectReason,
): boolean {
  const actor = directory.find(deviceId);
  return actor !== null && disconnect(actor, clock.wallMs(), reason);
}

/** It lost its right to be here: its controller is told so, and its sessions end as kicked. */
export function disconnectUnauthorized(clock: Clock, actor: DeviceActor): void {
  actor.signalConnection?.deny();
  disconnect(actor, clock.wallMs(), 'kicked');
}

/** Every session of this process. */
export function disconnectEverybody({ clock, directory }: DisconnectDeps, reason: DisconnectReason): void {
  for (const actor of directory.actors()) disconnect(actor, clock.wallMs(), reason);
}

/** Both in one go: the actor is released only when it holds neither. */
function disconnect(actor: DeviceActor, atMs: number, reason: DisconnectReason): boolean {
  const { sleepHeartbeatAt, signalHeartbeatAt } = actor;
  const signal = { kind: 'disconnect', reason, atMs, heartbeatAt: signalHeartbeatAt } as const;
  const sleep = { kind: 'disconnect', reason, atMs, heartbeatAt: sleepHeartbeatAt } as const;
  return actor.post({ to: 'signal', event: signal }) && actor.post({ to: 'sleep', event: sleep });
}
