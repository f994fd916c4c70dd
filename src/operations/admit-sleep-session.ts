/**
 * A module's login: proof, device, disabling, expiry, and then the device is this connection's. Unknown device,
 * wrong proof, disabled and expired are one word and one time, so that ids can't be probed.
 * Source: sleep-wire.md, Refusals and Sessions.
 */
import { timingSafeEqual } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { wallSeconds, type Clock } from '../base/clock.ts';
import type { DeviceDirectory } from '../actor/device-directory.ts';
import { generateSessionId, type DeviceId } from '../domain/ids.ts';
import { isExpired } from '../domain/registry.ts';
import type { SleepEndReason, SleepLogin } from '../domain/sleep.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { SleepConnection } from '../ports/sleep-connection.ts';
import type { SleepSessions, SleepSessionTicket } from '../ports/sleep-sessions.ts';
import { computeLoginMac } from '../sleep-wire/login-mac.ts';

export interface SleepSessionsHouse {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  /** The store is far behind: what would open a session waits outside. */
  isOverloaded(): boolean;
}

/** What an unknown device's proof is checked against: the same work, and never right. */
const nobodysSecret = 'no device has this secret';

/**
 * `hasRoom` false: the port is full, and only a login that replaces a session may in. Throws when the registry or
 * the device's record cannot be read.
 */
export function admitSleepSession(
  house: SleepSessionsHouse,
  login: SleepLogin,
  sessionKey: string,
  connection: SleepConnection,
  hasRoom: boolean,
): SleepSessionTicket | 'denied' | 'busy' {
  const { clock, registry, directory } = house;
  const at = wallSeconds(clock);
  const device = registry.findDevice(login.deviceId);
  const expected = computeLoginMac(device?.secret ?? nobodysSecret, sessionKey, login.signedText);
  const proven = timingSafeEqual(expected, login.mac);
  if (!proven || device === null || device.disabled || isExpired(device, at)) return 'denied';
  // Only now: a stranger must not learn from `busy` which devices are here.
  if ((!hasRoom || house.isOverloaded()) && directory.find(login.deviceId) === null) return 'busy';
  const actor = directory.claim(login.deviceId);
  const { heartbeatAt } = actor;
  const sessionId = generateSessionId();
  const { wakeMode } = login;
  const taken = actor.post({ event: { kind: 'login', sessionId, wakeMode, at, heartbeatAt }, connection });
  assert(taken && actor.sleepEpoch > 0, 'a login is handled in the turn it comes in');
  return { deviceId: login.deviceId, sessionId, epoch: actor.sleepEpoch };
}

/** The connection is gone; a late one changes nothing. */
function endSleepSession(
  { clock, directory }: SleepSessionsHouse,
  ticket: SleepSessionTicket,
  heartbeatAt: number,
): void {
  const actor = directory.find(ticket.deviceId);
  const event = { kind: 'ended', epoch: ticket.epoch, at: wallSeconds(clock), heartbeatAt } as const;
  const taken = actor === null || actor.post({ event });
  assert(taken, 'an end is never lost');
}

/** Ends the device's session from our side, whoever holds it. False: there was none. */
export function expelSleepSession(
  { clock, directory }: Pick<SleepSessionsHouse, 'clock' | 'directory'>,
  deviceId: DeviceId,
  reason: SleepEndReason,
): boolean {
  const actor = directory.find(deviceId);
  if (actor === null) return false;
  const { heartbeatAt } = actor;
  return actor.post({ event: { kind: 'expel', reason, at: wallSeconds(clock), heartbeatAt } });
}

/** The port of the sleep gateway. */
export function sleepSessions(house: SleepSessionsHouse): SleepSessions {
  return {
    admit: (login, sessionKey, connection, hasRoom) =>
      admitSleepSession(house, login, sessionKey, connection, hasRoom),
    ended: (ticket, _reason, heartbeatAt) => endSleepSession(house, ticket, heartbeatAt),
  };
}
