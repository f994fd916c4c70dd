/**
 * The server around the sessions of a few devices, without sockets and store: a real directory, the ports that both gateways
 * call, records in memory, and one list of all events in order. Sleep and signal sessions are played through one `Door`, so
 * that common rules are tested once.
 */
import type { CallRejection } from '../../src/model/call.ts';
import { wallSeconds } from '../../src/lib/clock.ts';
import { DeviceDirectory } from '../../src/core/devices/device-directory.ts';
import type { ConnectionTimes, ConnectivityRecord } from '../../src/model/connectivity.ts';
import type { EventDraft, EventType } from '../../src/model/events.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import type { JsonObject } from '../../src/model/json.ts';
import type { SignalLogin, WakeReport } from '../../src/model/signal.ts';
import type { SleepLogin, WakeMode } from '../../src/model/sleep.ts';
import {
  signalSessions,
  type SignalSessionsDeps,
  sleepSessions,
} from '../../src/core/devices/admit-session.ts';
import { observeOwn } from '../../src/core/devices/observe-device.ts';
import { queryConnectivity, type ConnectivityDeps } from '../../src/core/devices/query-connectivity.ts';
import type { SessionTicket } from '../../src/core/ports/device-sessions.ts';
import { computeSignalMac } from '../../src/protocol/signal/controller-message.ts';
import { computeLoginMac } from '../../src/protocol/sleep/login-line.ts';
import { LoginRates } from '../../src/core/devices/login-rates.ts';
import { RefusedLogins } from '../../src/core/devices/refused-logins.ts';
import { SessionConflicts } from '../../src/core/devices/session-conflicts.ts';
import { DrivenClock } from './driven-clock.ts';
import {
  FakeConnection,
  FakeLog,
  FakeRecords,
  FakeRegistry,
  FakeSignalConnection,
  FakeTelemetry,
  testApp,
  testDevice,
} from './fakes.ts';

const sessionKey = 'k'.repeat(32);
const rightSecret = 'device-secret';
export const testNode = 'node-1';

export class SessionScene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly log = new FakeLog();
  readonly events: EventDraft[] = [];
  readonly sleepRecords = new FakeRecords(this.events);
  readonly signalRecords = new FakeRecords(this.events);
  readonly reports: { deviceId: DeviceId; sessionId: SessionId; report: WakeReport }[] = [];
  readonly rejections: { deviceId: DeviceId; rejection: CallRejection }[] = [];
  readonly telemetry = new FakeTelemetry();
  readonly refusedLogins = new RefusedLogins(this);
  loginRates: SignalSessionsDeps['loginRates'] = new LoginRates(this.clock, 1);
  conflicts: SignalSessionsDeps['conflicts'] = new SessionConflicts({
    clock: this.clock,
    log: this.log,
    append: (event) => void this.events.push(event),
    refusedLogins: this.refusedLogins,
  });
  directory = this.newDirectory();
  overloaded = false;
  refusing = false;
  readonly sleep = new SleepDoor(this, this.sleepRecords);
  readonly signal = new SignalDoor(this, this.signalRecords);

  /** The current dependencies: a restart replaces the directory. */
  get deps(): SignalSessionsDeps & ConnectivityDeps {
    const { clock, registry, directory, log, loginRates, conflicts, refusedLogins } = this;
    const wakeups: SignalSessionsDeps['wakeups'] = {
      reported: (deviceId, sessionId, report) => void this.reports.push({ deviceId, sessionId, report }),
    };
    const rejections: SignalSessionsDeps['rejections'] = {
      rejected: (deviceId, rejection) => void this.rejections.push({ deviceId, rejection }),
    };
    const loginsAreClosed = (): boolean => this.overloaded;
    const storeRefuses = (): boolean => this.refusing;
    const records = { sleepRecords: this.sleepRecords, signalRecords: this.signalRecords };
    const known = { clock, registry, directory, ...records, log, loginRates, conflicts, observe: observeOwn };
    return { ...known, refusedLogins, wakeups, rejections, loginsAreClosed, storeRefuses };
  }

  newDirectory(): DeviceDirectory {
    const { sleepRecords, signalRecords } = this;
    return new DeviceDirectory({ sleepRecords, signalRecords, node: testNode });
  }

  /** The connectivity record that a backend reads when nothing is pending. */
  observe(deviceId = testDevice): ConnectivityRecord {
    const answer = queryConnectivity(this.deps, testApp, deviceId);
    if (answer instanceof Promise || !answer.ok) throw new Error('the query did not answer at once');
    return answer.value;
  }

  isOnline(deviceId = testDevice): boolean {
    return this.observe(deviceId).signal.isOnline;
  }
}

export interface AdmitOptions {
  readonly deviceId?: DeviceId;
  readonly secret?: string;
  readonly hasRoom?: boolean;
  readonly address?: string;
  readonly media?: JsonObject | null;
  readonly wakeMode?: WakeMode;
}

/** Reasons for which a peer, or its gateway, ends either kind of session. */
export type PeerEndReason = 'peer_closed' | 'reset' | 'heartbeat_timeout';

/** One admitted socket, with the state that its gateway keeps. */
export class Peer {
  readonly ticket: SessionTicket;
  readonly #door: Door;
  readonly #connection: { lastHeartbeatAt: number; readonly closes: readonly string[] };

  constructor(
    door: Door,
    ticket: SessionTicket,
    connection: { lastHeartbeatAt: number; readonly closes: readonly string[] },
  ) {
    this.#door = door;
    this.ticket = ticket;
    this.#connection = connection;
  }

  get epoch(): number {
    return this.ticket.epoch;
  }

  /** Reasons for which the server closed it; empty: open. */
  get closes(): readonly string[] {
    return this.#connection.closes;
  }

  heartbeat(): void {
    this.#connection.lastHeartbeatAt = wallSeconds(this.#door.scene.clock);
  }

  end(reason: PeerEndReason): void {
    this.#door.end(this.ticket, reason, this.#connection.lastHeartbeatAt);
  }
}

/** One kind of connection, as its gateway and a backend see it. */
export abstract class Door {
  abstract readonly opened: EventType;
  abstract readonly closed: EventType;
  readonly scene: SessionScene;
  readonly records: FakeRecords;

  constructor(scene: SessionScene, records: FakeRecords) {
    this.scene = scene;
    this.records = records;
  }

  abstract admit(options?: AdmitOptions): Peer | 'denied' | 'busy';
  abstract end(ticket: SessionTicket, reason: PeerEndReason, heartbeatAt: number): void;
  /** The open epoch; 0: none. */
  abstract epoch(deviceId?: DeviceId): number;
  abstract times(deviceId?: DeviceId): ConnectionTimes;

  login(deviceId = testDevice): Peer {
    const peer = this.admit({ deviceId });
    if (typeof peer === 'string') throw new Error(`the login was answered ${peer}`);
    return peer;
  }

  /** Events of this kind, in order: `opened 1`, `replaced 2`, `closed 2 reset`. */
  history(deviceId = testDevice): string[] {
    const mine = this.scene.events.filter((event) => event.deviceId === deviceId);
    return mine.flatMap((event) => this.notify(event) ?? []);
  }

  /** One event in the form of `history`; null: another kind. */
  notify({ type, epoch, data }: EventDraft): string | null {
    if (type === this.opened)
      return `${'replaced' in data && data.replaced ? 'replaced' : 'opened'} ${epoch}`;
    return type === this.closed && 'reason' in data ? `closed ${epoch} ${String(data.reason)}` : null;
  }
}

class SleepDoor extends Door {
  readonly opened = 'device.sleep.login';
  readonly closed = 'device.sleep.offline';

  admit(options: AdmitOptions = {}): Peer | 'denied' | 'busy' {
    const { deviceId = testDevice, secret = rightSecret, wakeMode = 'custom', hasRoom = true } = options;
    const { address = '192.0.2.1' } = options;
    const connection = new FakeConnection();
    const signedText = `RVL1 ${Buffer.from(deviceId).toString('base64url')} ${wakeMode} 50 0`;
    const mac = computeLoginMac(secret, sessionKey, signedText);
    const login: SleepLogin = {
      deviceId,
      wakeMode,
      heartbeatSeconds: 50,
      wantsReply: false,
      mac,
      signedText,
    };
    const ticket = sleepSessions(this.scene.deps).admit(
      login,
      sessionKey,
      connection,
      hasRoom,
      () => address,
    );
    return typeof ticket === 'string' ? ticket : new Peer(this, ticket, connection);
  }

  end(ticket: SessionTicket, reason: PeerEndReason, heartbeatAt: number): void {
    sleepSessions(this.scene.deps).ended(ticket, reason, heartbeatAt);
  }

  epoch(deviceId = testDevice): number {
    return this.scene.directory.find(deviceId)?.epoch('sleep') ?? 0;
  }

  times(deviceId = testDevice): ConnectionTimes {
    return timesOf(this.scene.observe(deviceId).sleep);
  }
}

class SignalDoor extends Door {
  readonly opened = 'device.signal.online';
  readonly closed = 'device.signal.offline';

  admit(options: AdmitOptions = {}): Peer | 'denied' | 'busy' {
    const { deviceId = testDevice, secret = rightSecret, media = null, hasRoom = true } = options;
    const { address = '192.0.2.1' } = options;
    const connection = new FakeSignalConnection();
    const login: SignalLogin = { deviceId, mac: computeSignalMac(secret, sessionKey, deviceId), media };
    const ticket = signalSessions(this.scene.deps).admit(
      login,
      sessionKey,
      connection,
      hasRoom,
      () => address,
    );
    return typeof ticket === 'string' ? ticket : new Peer(this, ticket, connection);
  }

  end(ticket: SessionTicket, reason: PeerEndReason, heartbeatAt: number): void {
    signalSessions(this.scene.deps).ended(ticket, reason, heartbeatAt);
  }

  epoch(deviceId = testDevice): number {
    return this.scene.directory.find(deviceId)?.epoch('signal') ?? 0;
  }

  times(deviceId = testDevice): ConnectionTimes {
    return timesOf(this.scene.observe(deviceId).signal);
  }
}

function timesOf({ lastLoginAt, lastHeartbeatAt, lastOfflineAt }: ConnectionTimes): ConnectionTimes {
  return { lastLoginAt, lastHeartbeatAt, lastOfflineAt };
}
