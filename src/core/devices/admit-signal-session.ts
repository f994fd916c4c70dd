/**
 * A controller's login: proof, device, disabling, expiry, and then the device's signal session is this connection's.
 * Source: signal-wire.md; decisions.md, Connectivity.
 */
import { assert } from '../../lib/assert.ts';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { DeviceDirectory } from './device-directory.ts';
import { generateSessionId, type DeviceId, type SessionId } from '../../model/ids.ts';
import type { SignalEndReason, SignalLogin, WakeReport } from '../../model/signal.ts';
import type { ConnectionRecords } from '../ports/connection-records.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { SignalConnection } from '../ports/signal-connection.ts';
import type { SignalSessions, SignalSessionTicket } from '../ports/signal-sessions.ts';
import { computeSignalMac } from '../../protocol/signal/login-mac.ts';
import { proveDevice } from './prove-device.ts';

export interface SignalSessionsDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly signalRecords: ConnectionRecords;
  /** Whom a controller's report of what woke it is for. */
  readonly wakeups: { reported(deviceId: DeviceId, sessionId: SessionId, report: WakeReport): void };
  /** The store is far behind: what would open a session waits outside. */
  isOverloaded(): boolean;
}

/**
 * `hasRoom` false: the listener is full, and only a login that replaces a session may in. Throws when the registry
 * or the device's record cannot be read.
 */
export function admitSignalSession(
  deps: SignalSessionsDeps,
  login: SignalLogin,
  sessionKey: string,
  connection: SignalConnection,
  hasRoom: boolean,
): SignalSessionTicket | 'denied' | 'busy' {
  const { clock, registry, directory } = deps;
  const { deviceId, media } = login;
  const computeMac = (secret: string): Buffer => computeSignalMac(secret, sessionKey, deviceId);
  const mark = proveDevice(registry, login, computeMac, wallSeconds(clock));
  if (mark === null) return 'denied';
  // Only now: a stranger must not learn from `busy` which devices are here.
  const replaces = (directory.find(deviceId)?.signalEpoch ?? 0) > 0;
  if ((!hasRoom || deps.isOverloaded()) && !replaces) return 'busy';
  const actor = directory.claim(deviceId);
  const sessionId = generateSessionId();
  const taken = actor.post({
    to: 'signal',
    event: { kind: 'login', sessionId, atMs: clock.wallMs(), heartbeatAt: actor.signalHeartbeatAt },
    connection,
    media,
    secretMark: mark,
  });
  assert(taken && actor.signalEpoch > 0, 'a login is handled in the turn it comes in');
  return { deviceId, sessionId, epoch: actor.signalEpoch };
}

/** A login is given its epoch with its commit, where several members count; one that is over is told the old one. */
function toldEpoch({ directory }: SignalSessionsDeps, { deviceId, epoch }: SignalSessionTicket): number {
  const actor = directory.find(deviceId);
  return actor?.signalEpoch === epoch ? actor.toldSignalEpoch : epoch;
}

/** The connection is gone; a late one changes nothing. */
function endSignalSession(
  { clock, directory }: SignalSessionsDeps,
  { deviceId, epoch }: SignalSessionTicket,
  reason: SignalEndReason,
  heartbeatAt: number,
): void {
  const actor = directory.find(deviceId);
  const event = { kind: 'ended', epoch, reason, atMs: clock.wallMs(), heartbeatAt } as const;
  const taken = actor === null || actor.post({ to: 'signal', event });
  assert(taken, 'an end is never lost');
}

/** The port of the signal gateway. */
export function signalSessions(deps: SignalSessionsDeps): SignalSessions {
  return {
    admit: (login, sessionKey, connection, hasRoom) =>
      admitSignalSession(deps, login, sessionKey, connection, hasRoom),
    committed(ticket) {
      const committed = deps.signalRecords.committed(ticket.deviceId);
      return committed === null ? toldEpoch(deps, ticket) : committed.then(() => toldEpoch(deps, ticket));
    },
    wakeReported: ({ deviceId, sessionId }, report) => deps.wakeups.reported(deviceId, sessionId, report),
    ended: (ticket, reason, heartbeatAt) => endSignalSession(deps, ticket, reason, heartbeatAt),
  };
}
