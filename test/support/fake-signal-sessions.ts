/**
 * The server behind a signal listener, as small as it can be: it knows secrets, holds one session a device, closes
 * what a newer login replaces, commits when a test says so, and lets a test wait for what happens.
 */
import { EventEmitter, once } from 'node:events';
import { generateSessionId } from '../../src/model/ids.ts';
import type { SignalEndReason, SignalLogin, WakeReport } from '../../src/model/signal.ts';
import type {
  SignalConnection,
  SignalSessions,
  SessionTicket,
} from '../../src/core/ports/device-sessions.ts';
import { computeSignalMac } from '../../src/protocol/signal/controller-message.ts';

export interface EndedSignalSession {
  readonly ticket: SessionTicket;
  readonly reason: SignalEndReason;
  readonly lastHeartbeatAt: number;
}

export class FakeSignalSessions implements SignalSessions {
  readonly secrets = new Map<string, string>([['TESTDEVICE01', 'device-secret']]);
  readonly connections = new Map<string, SignalConnection>();
  readonly logins: SignalLogin[] = [];
  readonly ends: EndedSignalSession[] = [];
  readonly reports: { readonly ticket: SessionTicket; readonly report: WakeReport }[] = [];
  failure: Error | null = null;
  /** What the next logins' commits are; null: they are committed already. */
  commit: Promise<void> | null = null;
  /** The store is far behind. */
  isOverloaded = false;
  readonly #happenings = new EventEmitter().setMaxListeners(0);
  #epoch = 0;

  admit(
    login: SignalLogin,
    sessionKey: string,
    connection: SignalConnection,
    hasRoom: boolean,
  ): SessionTicket | 'denied' | 'busy' {
    const { deviceId, mac } = login;
    if (this.failure !== null) throw this.failure;
    const secret = this.secrets.get(deviceId);
    if (secret === undefined || !computeSignalMac(secret, sessionKey, deviceId).equals(mac)) return 'denied';
    if ((!hasRoom || this.isOverloaded) && !this.connections.has(deviceId)) return 'busy';
    this.logins.push(login);
    this.connections.get(deviceId)?.close('replaced');
    this.connections.set(deviceId, connection);
    this.#epoch += 1;
    this.#happenings.emit('login');
    return { deviceId, sessionId: generateSessionId(), epoch: this.#epoch };
  }

  committed({ epoch }: SessionTicket): number | Promise<number> {
    return this.commit === null ? epoch : this.commit.then(() => epoch);
  }

  wakeReported(ticket: SessionTicket, report: WakeReport): void {
    this.reports.push({ ticket, report });
    this.#happenings.emit('report');
  }

  ended(ticket: SessionTicket, reason: SignalEndReason, lastHeartbeatAt: number): void {
    this.ends.push({ ticket, reason, lastHeartbeatAt });
    this.#happenings.emit('end');
  }

  /** The connection of a device that is logged in. */
  connection(deviceId = 'TESTDEVICE01'): SignalConnection {
    const connection = this.connections.get(deviceId);
    if (connection === undefined) throw new Error(`${deviceId} is not logged in`);
    return connection;
  }

  /** Resolves when there were `count` logins, now or when the last comes. */
  async loggedIn(count = 1): Promise<void> {
    while (this.logins.length < count) await once(this.#happenings, 'login');
  }

  async endedSessions(count = 1): Promise<readonly EndedSignalSession[]> {
    while (this.ends.length < count) await once(this.#happenings, 'end');
    return this.ends;
  }

  async wakeReports(count = 1): Promise<readonly WakeReport[]> {
    while (this.reports.length < count) await once(this.#happenings, 'report');
    return this.reports.map(({ report }) => report);
  }
}
