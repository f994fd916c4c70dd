/**
 * A minimal server behind a listener for devices: it knows secrets, has one session per device, closes a replaced connection,
 * and lets a test await events.
 */
import { EventEmitter, once } from 'node:events';
import { generateSessionId, type DeviceId } from '../../src/model/ids.ts';
import type { CallRejection } from '../../src/model/call.ts';
import type { SignalEndReason, SignalLogin, WakeReport } from '../../src/model/signal.ts';
import type { SleepEndReason, SleepLogin, WakeMode } from '../../src/model/sleep.ts';
import type {
  Admission,
  MovedSession,
  SessionTicket,
  SignalConnection,
  SignalSessions,
  SleepConnection,
  SleepSessions,
} from '../../src/core/ports/device-sessions.ts';
import type { ProductDefaults } from '../../src/model/product-defaults.ts';
import { computeSignalMac } from '../../src/protocol/signal/controller-message.ts';
import { computeLoginMac } from '../../src/protocol/sleep/login-line.ts';

interface EndedSession<Reason> {
  readonly ticket: SessionTicket;
  readonly reason: Reason;
  readonly lastHeartbeatAt: number;
}

interface AnyLogin {
  readonly deviceId: DeviceId;
  readonly mac: Uint8Array;
}

abstract class FakeSessions<
  Login extends AnyLogin,
  Connection extends { close(reason: Reason | 'replaced'): void },
  Reason,
> {
  readonly secrets = new Map<string, string>([['TESTDEVICE01', 'device-secret']]);
  readonly connections = new Map<string, Connection>();
  readonly logins: Login[] = [];
  readonly tickets: SessionTicket[] = [];
  readonly addresses: string[] = [];
  readonly ends: EndedSession<Reason>[] = [];
  failure: Error | null = null;
  /** True: the store is far behind, and logins are refused. */
  loginsAreClosed = false;
  protected readonly happenings = new EventEmitter().setMaxListeners(0);
  #epoch = 0;

  protected abstract proof(secret: string, sessionKey: string, login: Login): Buffer;

  admit(
    login: Login,
    sessionKey: string,
    connection: Connection,
    hasRoom: boolean,
    address: () => string,
  ): Admission {
    const { deviceId, mac } = login;
    if (this.failure !== null) throw this.failure;
    const secret = this.secrets.get(deviceId);
    if (secret === undefined || !this.proof(secret, sessionKey, login).equals(mac)) return 'denied';
    if ((!hasRoom || this.loginsAreClosed) && !this.connections.has(deviceId)) return 'busy';
    this.logins.push(login);
    this.connections.get(deviceId)?.close('replaced');
    this.connections.set(deviceId, connection);
    this.#epoch += 1;
    this.addresses.push(address());
    const ticket = {
      deviceId,
      sessionId: generateSessionId(),
      epoch: this.#epoch,
      secretMark: secret.length,
    };
    this.tickets.push(ticket);
    this.happenings.emit('login');
    return ticket;
  }

  ended(ticket: SessionTicket, reason: Reason, lastHeartbeatAt: number): void {
    this.ends.push({ ticket, reason, lastHeartbeatAt });
    this.happenings.emit('end');
  }

  connection(deviceId = 'TESTDEVICE01'): Connection {
    const connection = this.connections.get(deviceId);
    if (connection === undefined) throw new Error(`${deviceId} is not logged in`);
    return connection;
  }

  /** Resolves once there were `count` logins in total. */
  async loggedIn(count = 1): Promise<void> {
    while (this.logins.length < count) await once(this.happenings, 'login');
  }

  async endedSessions(count = 1): Promise<readonly EndedSession<Reason>[]> {
    while (this.ends.length < count) await once(this.happenings, 'end');
    return this.ends;
  }
}

export class FakeSleepSessions
  extends FakeSessions<SleepLogin, SleepConnection, SleepEndReason>
  implements SleepSessions
{
  protected proof(secret: string, sessionKey: string, { signedText }: SleepLogin): Buffer {
    return computeLoginMac(secret, sessionKey, signedText);
  }

  recover(lost: SessionTicket, _wakeMode: WakeMode, connection: SleepConnection): SessionTicket {
    this.connections.set(lost.deviceId, connection);
    return { ...lost, epoch: lost.epoch + 1 };
  }

  adopt({ deviceId, sessionId, secretMark }: MovedSession, connection: SleepConnection): SessionTicket {
    this.connections.set(deviceId, connection);
    return { deviceId, sessionId, epoch: 1, secretMark };
  }
}

export class FakeSignalSessions
  extends FakeSessions<SignalLogin, SignalConnection, SignalEndReason>
  implements SignalSessions
{
  readonly reports: WakeReport[] = [];
  readonly rejections: { readonly ticket: SessionTicket; readonly rejection: CallRejection }[] = [];
  /** Commit of the next logins; null: committed at once. */
  commit: Promise<void> | null = null;
  /** Defaults of every device's product; an error: unreadable. */
  defaults: ProductDefaults | Error | null = null;

  protected proof(secret: string, sessionKey: string, { deviceId }: SignalLogin): Buffer {
    return computeSignalMac(secret, sessionKey, deviceId);
  }

  committed({ epoch }: SessionTicket): number | Promise<number> {
    return this.commit === null ? epoch : this.commit.then(() => epoch);
  }

  defaultsFor(): ProductDefaults | null {
    if (this.defaults instanceof Error) throw this.defaults;
    return this.defaults;
  }

  wakeReported(_ticket: SessionTicket, report: WakeReport): void {
    this.reports.push(report);
    this.happenings.emit('report');
  }

  callRejected(ticket: SessionTicket, rejection: CallRejection): void {
    this.rejections.push({ ticket, rejection });
    this.happenings.emit('rejection');
  }

  async callRejections(count = 1): Promise<readonly CallRejection[]> {
    while (this.rejections.length < count) await once(this.happenings, 'rejection');
    return this.rejections.map(({ rejection }) => rejection);
  }

  async wakeReports(count: number): Promise<readonly WakeReport[]> {
    while (this.reports.length < count) await once(this.happenings, 'report');
    return this.reports;
  }
}
