/**
 * A module's login: proof, device, disabling, expiry, and then the device's sleep session is this connection's.
 * Source: sleep-wire.md, Refusals and Sessions.
 */
import { assert } from '../../lib/assert.ts';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { DeviceDirectory } from './device-directory.ts';
import { generateSessionId } from '../../model/ids.ts';
import type { SleepEndReason, SleepLogin } from '../../model/sleep.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { SleepConnection } from '../ports/sleep-connection.ts';
import type { SleepSessions, SleepSessionTicket } from '../ports/sleep-sessions.ts';
import { computeLoginMac } from '../../protocol/sleep/login-mac.ts';
import { proveDevice } from './prove-device.ts';

export interface SleepSessionsDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  /** The store is far behind: what would open a session waits outside. */
  isOverloaded(): boolean;
}

/**
 * `hasRoom` false: the port is full, and only a login that replaces a session may in. Throws when the registry or
 * the device's record cannot be read.
 */
export function admitSleepSession(
  deps: SleepSessionsDeps,
  login: SleepLogin,
  sessionKey: string,
  connection: SleepConnection,
  hasRoom: boolean,
): SleepSessionTicket | 'denied' | 'busy' {
  const { clock, registry, directory } = deps;
  const computeMac = (secret: string): Buffer => computeLoginMac(secret, sessionKey, login.signedText);
  const mark = proveDevice(registry, login, computeMac, wallSeconds(clock));
  if (mark === null) return 'denied';
  // Only now: a stranger must not learn from `busy` which devices are here.
  const replaces = (directory.find(login.deviceId)?.sleepEpoch ?? 0) > 0;
  if ((!hasRoom || deps.isOverloaded()) && !replaces) return 'busy';
  const actor = directory.claim(login.deviceId);
  const sessionId = generateSessionId();
  const taken = actor.post({
    to: 'sleep',
    event: { kind: 'login', sessionId, atMs: clock.wallMs(), heartbeatAt: actor.sleepHeartbeatAt },
    connection,
    wakeMode: login.wakeMode,
    secretMark: mark,
  });
  assert(taken && actor.sleepEpoch > 0, 'a login is handled in the turn it comes in');
  return { deviceId: login.deviceId, sessionId, epoch: actor.sleepEpoch };
}

/** The connection is gone; a late one changes nothing. */
function endSleepSession(
  { clock, directory }: SleepSessionsDeps,
  { deviceId, epoch }: SleepSessionTicket,
  reason: SleepEndReason,
  heartbeatAt: number,
): void {
  const actor = directory.find(deviceId);
  const event = { kind: 'ended', epoch, reason, atMs: clock.wallMs(), heartbeatAt } as const;
  const taken = actor === null || actor.post({ to: 'sleep', event });
  assert(taken, 'an end is never lost');
}

/** The port of the sleep gateway. */
export function sleepSessions(deps: SleepSessionsDeps): SleepSessions {
  return {
    admit: (login, sessionKey, connection, hasRoom) =>
      admitSleepSession(deps, login, sessionKey, connection, hasRoom),
    ended: (ticket, reason, heartbeatAt) => endSleepSession(deps, ticket, reason, heartbeatAt),
  };
}
