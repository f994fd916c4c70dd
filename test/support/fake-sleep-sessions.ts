/**
 * The server behind a sleep listener, as small as it can be: it knows secrets, holds one session a device,
 * closes what a newer login replaces, and lets a test wait for what happens.
 */
import { EventEmitter, once } from 'node:events';
import { generateSessionId } from '../../src/model/ids.ts';
import type { SleepEndReason, SleepLogin } from '../../src/model/sleep.ts';
import type { SleepConnection, SleepSessions, SessionTicket } from '../../src/core/ports/device-sessions.ts';
import { computeLoginMac } from '../../src/protocol/sleep/login-line.ts';

export interface EndedSession {
  readonly ticket: SessionTicket;
  readonly reason: SleepEndReason;
  readonly lastHeartbeatAt: number;
}

export class FakeSleepSessions implements SleepSessions {
  readonly secrets = new Map<string, string>([['TESTDEVICE01', 'device-secret']]);
  readonly connections = new Map<string, SleepConnection>();
  readonly logins: SleepLogin[] = [];
  readonly ends: EndedSession[] = [];
  failure: Error | null = null;
  readonly #happenings = new EventEmitter();
  #epoch = 0;

  admit(
    login: SleepLogin,
    sessionKey: string,
    connection: SleepConnection,
    hasRoom: boolean,
  ): SessionTicket | 'denied' | 'busy' {
    if (this.failure !== null) throw this.failure;
    const secret = this.secrets.get(login.deviceId);
    if (secret === undefined) return 'denied';
    if (!computeLoginMac(secret, sessionKey, login.signedText).equals(login.mac)) return 'denied';
    if (!hasRoom && !this.connections.has(login.deviceId)) return 'busy';
    this.logins.push(login);
    this.connections.get(login.deviceId)?.close('replaced');
    this.connections.set(login.deviceId, connection);
    this.#happenings.emit('login');
    this.#epoch += 1;
    return { deviceId: login.deviceId, sessionId: generateSessionId(), epoch: this.#epoch };
  }

  ended(ticket: SessionTicket, reason: SleepEndReason, lastHeartbeatAt: number): void {
    this.ends.push({ ticket, reason, lastHeartbeatAt });
    this.#happenings.emit('end');
  }

  /** The connection of a device that is logged in. */
  connection(deviceId = 'TESTDEVICE01'): SleepConnection {
    const connection = this.connections.get(deviceId);
    if (connection === undefined) throw new Error(`${deviceId} is not logged in`);
    return connection;
  }

  /** Resolves with the `count`th login there was, now or when it comes. */
  async loggedIn(count = 1): Promise<void> {
    while (this.logins.length < count) await once(this.#happenings, 'login');
  }

  async endedSessions(count = 1): Promise<readonly EndedSession[]> {
    while (this.ends.length < count) await once(this.#happenings, 'end');
    return this.ends;
  }
}
