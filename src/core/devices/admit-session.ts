/**
 * Logins at the sleep and signal ports: proof, device, disabling, expiry and rate, then the session opens on this connection.
 * Source: sleep-wire.md, Refusals and Sessions; signal-wire.md; decisions.md, Connectivity.
 */
import { assert } from '../../lib/assert.ts';
import { wallSeconds } from '../../lib/clock.ts';
import { generateSessionId, type DeviceId, type SessionId } from '../../model/ids.ts';
import type { CallRejection } from '../../model/call.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { WakeReport } from '../../model/signal.ts';
import type { WakeMode } from '../../model/sleep.ts';
import { computeLoginMac } from '../../protocol/sleep/login-line.ts';
import { computeSignalMac } from '../../protocol/signal/controller-message.ts';
import type { ConnectionRecords } from '../ports/records.ts';
import type {
  Admission,
  MovedSession,
  SessionTicket,
  SignalSessions,
  SleepConnection,
  SleepSessions,
} from '../ports/device-sessions.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import { isInService } from '../../model/registry.ts';
import { proveDevice, secretMark as markOf } from './device-access.ts';
import type { EndReason, LoginMessage } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { LoginRates } from './login-rates.ts';
import { findProductDefaults } from './product-defaults.ts';
import type { RefusedLogins } from './refused-logins.ts';
import type { SessionConflicts } from './session-conflicts.ts';

export interface SleepSessionsDeps extends Pick<CoreDeps, 'clock' | 'registry'> {
  readonly directory: DeviceDirectory;
  readonly loginRates: Pick<LoginRates, 'acquire'>;
  readonly conflicts: Pick<SessionConflicts, 'replaced'>;
  readonly refusedLogins: Pick<RefusedLogins, 'record'>;
  /** True: the store is far behind, and a device without a session is not admitted. */
  loginsAreClosed(): boolean;
}

export interface SignalSessionsDeps extends SleepSessionsDeps {
  readonly signalRecords: ConnectionRecords;
  readonly wakeups: { reported(deviceId: DeviceId, sessionId: SessionId, report: WakeReport): void };
  readonly rejections: { rejected(deviceId: DeviceId, rejection: CallRejection): void };
}

export function sleepSessions(deps: SleepSessionsDeps): SleepSessions<Admission> {
  const check = loginCheck(deps, 'sleep');
  return {
    admit: (login, sessionKey, connection, hasRoom, address) => {
      const { deviceId, signedText, wakeMode } = login;
      const macOf = (secret: string): Buffer => computeLoginMac(secret, sessionKey, signedText);
      const secretMark = check(login, macOf, hasRoom, address);
      if (typeof secretMark === 'string') return secretMark;
      const event = loginEvent(deps, 'sleep', deviceId, false);
      return open(deps, deviceId, { to: 'sleep', event, connection, wakeMode, secretMark }, address);
    },
    ended: (ticket, reason, heartbeatAt) => end(deps, 'sleep', ticket, reason, heartbeatAt),
    adopt: (moved, connection) => adoptSession(deps, moved, connection),
    recover: (lost, wakeMode, connection) => recover(deps, lost, wakeMode, connection),
  };
}

export function signalSessions(deps: SignalSessionsDeps): SignalSessions {
  const check = loginCheck(deps, 'signal');
  return {
    admit: (login, sessionKey, connection, hasRoom, address) => {
      const { deviceId, media } = login;
      const macOf = (secret: string): Buffer => computeSignalMac(secret, sessionKey, deviceId);
      const secretMark = check(login, macOf, hasRoom, address);
      if (typeof secretMark === 'string') return secretMark;
      const event = loginEvent(deps, 'signal', deviceId, false);
      return open(deps, deviceId, { to: 'signal', event, connection, media, secretMark }, address);
    },
    committed(ticket) {
      const committed = deps.signalRecords.committed(ticket.deviceId);
      return committed === null ? epochOf(deps, ticket) : committed.then(() => epochOf(deps, ticket));
    },
    defaultsFor: ({ deviceId }) => findProductDefaults(deps.registry, deviceId),
    wakeReported: ({ deviceId, sessionId }, report) => deps.wakeups.reported(deviceId, sessionId, report),
    callRejected: ({ deviceId }, rejection) => deps.rejections.rejected(deviceId, rejection),
    ended: (ticket, reason, heartbeatAt) => end(deps, 'signal', ticket, reason, heartbeatAt),
  };
}

/** Returns the mark of the device's secret, or the word of the refusal, the only one that the device receives. */
type LoginCheck = (
  login: { readonly deviceId: DeviceId; readonly mac: Uint8Array },
  computeMac: (secret: string) => Buffer,
  hasRoom: boolean,
  address: () => string,
) => number | 'denied' | 'busy';

function loginCheck(deps: SleepSessionsDeps, connection: ConnectionKind): LoginCheck {
  const refusalOfProven = (deviceId: DeviceId, hasRoom: boolean): 'busy' | 'too_fast' | null => {
    const mayOpen = hasRoom && !deps.loginsAreClosed();
    if (!mayOpen && (deps.directory.find(deviceId)?.epoch(connection) ?? 0) === 0) return 'busy';
    return deps.loginRates.acquire(connection, deviceId) ? null : 'too_fast';
  };
  return ({ deviceId, mac }, computeMac, hasRoom, address) => {
    const device = deps.registry.peekDevice(deviceId);
    const proof = proveDevice(device, mac, computeMac, wallSeconds(deps.clock));
    // `busy` only after the proof, so that a stranger cannot probe which devices are connected.
    const reason = typeof proof === 'string' ? proof : (refusalOfProven(deviceId, hasRoom) ?? proof);
    if (typeof reason === 'number') return reason;
    deps.refusedLogins.record({ connection, deviceId, reason, address: address() }, device);
    return reason === 'busy' || reason === 'too_fast' ? 'busy' : 'denied';
  };
}

function recover(
  deps: SleepSessionsDeps,
  { deviceId, epoch, secretMark }: SessionTicket,
  wakeMode: WakeMode,
  connection: SleepConnection,
): SessionTicket | 'replaced' | 'kicked' {
  const { clock, registry, directory } = deps;
  const device = registry.peekDevice(deviceId);
  const mayStay = device !== null && isInService(device, wallSeconds(clock));
  if (!mayStay || markOf(device.secret) !== secretMark) return 'kicked';
  const known = directory.readRecord('sleep', deviceId);
  // A higher epoch: the core that admitted the login was killed before its commit.
  const isNewest = epoch > known.epoch || (epoch === known.epoch && known.openSession === null);
  if (!isNewest) return 'replaced';
  const event = loginEvent(deps, 'sleep', deviceId, true);
  return open(deps, deviceId, { to: 'sleep', event, connection, wakeMode, secretMark }, null);
}

function loginEvent(
  { clock, directory }: SleepSessionsDeps,
  kind: ConnectionKind,
  deviceId: DeviceId,
  recovered: boolean,
): LoginMessage<'sleep'>['event'] {
  const heartbeatAt = directory.find(deviceId)?.heartbeatAt(kind) ?? 0;
  return { kind: 'login', sessionId: generateSessionId(), atMs: clock.wallMs(), heartbeatAt, recovered };
}

/** `address`: of the peer; null: the session is recovered, which is no conflict with the one it replaces. */
function open(
  { directory, conflicts }: SleepSessionsDeps,
  deviceId: DeviceId,
  login: LoginMessage<'sleep'> | LoginMessage<'signal'>,
  address: (() => string) | null,
): SessionTicket {
  const { to: kind, event, secretMark } = login;
  const actor = directory.claim(deviceId);
  const replaces = actor.epoch(kind) > 0;
  const isPosted = actor.post(login);
  const epoch = actor.epoch(kind);
  assert(isPosted && epoch > 0, 'a login is handled in the turn of its arrival');
  if (replaces && address !== null)
    conflicts.replaced({ connection: kind, deviceId, epoch, address: address() });
  return { deviceId, sessionId: event.sessionId, epoch, secretMark };
}

/** Among several members the commit assigns the epoch of a login; a session that is over keeps the old one. */
function epochOf({ directory }: SleepSessionsDeps, { deviceId, sessionId, epoch }: SessionTicket): number {
  const actor = directory.find(deviceId);
  return actor?.session('signal') === sessionId ? actor.epoch('signal') : epoch;
}

function end(
  { clock, directory }: SleepSessionsDeps,
  to: ConnectionKind,
  { deviceId, sessionId: session }: SessionTicket,
  reason: EndReason,
  heartbeatAt: number,
): void {
  const actor = directory.find(deviceId);
  const event = { kind: 'ended', session, reason, atMs: clock.wallMs(), heartbeatAt } as const;
  const isPosted = actor === null || actor.post({ to, event });
  assert(isPosted, 'an end is never lost');
}

/** Null: the session is over according to the store, and nothing has changed. Throws when the store cannot be read. */
function adoptSession(
  { directory }: SleepSessionsDeps,
  moved: MovedSession,
  connection: SleepConnection,
): SessionTicket | null {
  const { deviceId, sessionId, secretMark } = moved;
  const actor = directory.claim(deviceId);
  const epoch = actor.adoptSleep(moved, connection);
  return epoch === null ? null : { deviceId, sessionId, epoch, secretMark };
}
