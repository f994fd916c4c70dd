/**
 * Logins at the sleep and signal ports: proof, device, disabling, expiry and rate, then the session opens on this connection.
 * Source: sleep-wire.md, Refusals and Sessions; signal-wire.md; decisions.md, Connectivity.
 */
import { assert } from '../../lib/assert.ts';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
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
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { LoginRefusal } from '../../model/connectivity.ts';
import { isInService } from '../../model/registry.ts';
import { proveDevice, secretMark as markOf } from './device-access.ts';
import type { ActorMessage, EndReason, LoginMessage } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { LoginRates } from './login-rates.ts';
import { findProductDefaults } from './product-defaults.ts';
import type { RefusedLogins } from './refused-logins.ts';
import type { SessionConflicts } from './session-conflicts.ts';

export interface SleepSessionsDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
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
  return {
    admit: (login, sessionKey, connection, hasRoom, address) => {
      const computeMac = (secret: string): Buffer => computeLoginMac(secret, sessionKey, login.signedText);
      const { wakeMode } = login;
      const open: Opening = (event, secretMark) => ({ to: 'sleep', event, connection, wakeMode, secretMark });
      return admit(deps, 'sleep', login, computeMac, hasRoom, address, open);
    },
    ended: (ticket, reason, heartbeatAt) => end(deps, 'sleep', ticket, reason, heartbeatAt),
    adopt: (moved, connection) => adoptSession(deps, moved, connection),
    recover: (lost, wakeMode, connection) => recover(deps, lost, wakeMode, connection),
  };
}

export function signalSessions(deps: SignalSessionsDeps): SignalSessions {
  return {
    admit: (login, sessionKey, connection, hasRoom, address) => {
      const computeMac = (secret: string): Buffer => computeSignalMac(secret, sessionKey, login.deviceId);
      const { media } = login;
      const open: Opening = (event, secretMark) => ({ to: 'signal', event, connection, media, secretMark });
      return admit(deps, 'signal', login, computeMac, hasRoom, address, open);
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

/** Builds the login message in full: spreading it took a tenth of the time of an admission. */
type Opening = (event: LoginMessage<'sleep'>['event'], secretMark: number) => ActorMessage;

function admit(
  deps: SleepSessionsDeps,
  kind: ConnectionKind,
  login: { readonly deviceId: DeviceId; readonly mac: Uint8Array },
  computeMac: (secret: string) => Buffer,
  hasRoom: boolean,
  address: () => string,
  open: Opening,
): Admission {
  const { clock, registry, directory } = deps;
  const { deviceId, mac } = login;
  const device = registry.peekDevice(deviceId);
  const secretMark = proveDevice(device, mac, computeMac, wallSeconds(clock));
  const replaces = (directory.find(deviceId)?.epoch(kind) ?? 0) > 0;
  // `busy` only after the proof, so that a stranger cannot probe which devices are connected.
  if (typeof secretMark === 'string') return refusalOf(secretMark);
  if ((!hasRoom || deps.loginsAreClosed()) && !replaces) return refusalOf('busy');
  if (!deps.loginRates.acquire(kind, deviceId)) return refusalOf('too_fast');
  const ticket = openSession(deps, kind, deviceId, secretMark, false, open);
  if (replaces)
    deps.conflicts.replaced({ connection: kind, deviceId, epoch: ticket.epoch, address: address() });
  return ticket;

  /** The device receives only this word; the reason is for operators. */
  function refusalOf(reason: LoginRefusal): 'denied' | 'busy' {
    deps.refusedLogins.record({ connection: kind, deviceId, reason, address: address() }, device);
    return reason === 'busy' || reason === 'too_fast' ? 'busy' : 'denied';
  }
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
  const open: Opening = (event) => ({ to: 'sleep', event, connection, wakeMode, secretMark });
  return openSession(deps, 'sleep', deviceId, secretMark, true, open);
}

function openSession(
  { clock, directory }: Pick<SleepSessionsDeps, 'clock' | 'directory'>,
  kind: ConnectionKind,
  deviceId: DeviceId,
  secretMark: number,
  recovered: boolean,
  open: Opening,
): SessionTicket {
  const actor = directory.claim(deviceId);
  const sessionId = generateSessionId();
  const heartbeatAt = actor.heartbeatAt(kind);
  const event = { kind: 'login', sessionId, atMs: clock.wallMs(), heartbeatAt, recovered } as const;
  const isPosted = actor.post(open(event, secretMark));
  assert(isPosted && actor.epoch(kind) > 0, 'a login is handled in the turn of its arrival');
  return { deviceId, sessionId, epoch: actor.epoch(kind), secretMark };
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
