/**
 * A connection from accept to login: PROXY header, admission, TLS, session key, login line, refusals. It owns the socket until the
 * login is accepted, then hands it to a SleepingConnection. While it awaits the answer of a core in another process, the socket's
 * events already go to the connection, but it still counts as a handshake.
 * Lifecycle: arriving -> admitting -> securing -> proving -> asking -> refusing | over. Source: sleep-wire.md.
 */
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { assert } from '../lib/assert.ts';
import type { WheelEntry } from '../lib/collections/deadline-wheel.ts';
import { refusalDiscardBytesMax, refusalLingerMsMax } from '../model/limits.ts';
import type { SleepLogin, SleepRefusal } from '../model/sleep.ts';
import type { Admission } from '../core/ports/device-sessions.ts';
import { LoginLineDecoder } from '../protocol/sleep/login-line.ts';
import { ProxyHeaderDecoder } from '../protocol/sleep/proxy-v2.ts';
import { generateSessionKey } from '../lib/session-key.ts';
import { addressKey } from '../lib/connections/address-key.ts';
import type { Applicant } from './admission.ts';
import type { PendingConnection } from '../lib/connections/device-connections.ts';
import { type SleepListenerContext, SleepingConnection } from './sleeping-connection.ts';
import {
  adoptSocket,
  askAddress,
  encryptSocket,
  handOverSocket,
  startReading,
  stopReading,
  type SocketOwner,
} from './owned-socket.ts';

/**
 * `arriving`: awaits the balancer's header. `admitting`: queued. `securing`: TLS. `proving`: has received the session key.
 * `asking`: awaits the core's answer. `refusing`: the reason was sent, and the peer may still read it.
 */
type Stage = 'arriving' | 'admitting' | 'securing' | 'proving' | 'asking' | 'refusing' | 'over';

export class Handshake implements PendingConnection, Applicant, SocketOwner {
  deadlineMs: number;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  address: string;
  readonly #context: SleepListenerContext;
  /** Null: connections have no PROXY header. */
  readonly #proxyHeader: ProxyHeaderDecoder | null;
  readonly #loginLine = new LoginLineDecoder();
  #socket: Socket;
  #stage: Stage = 'arriving';
  #sessionKey = '';
  /** Peer address from the PROXY header; null: the socket's. */
  #source: string | null = null;
  #discardedBytes = 0;
  /** From the complete login line. */
  #wantsReply = false;
  /** The connection for which an answer of the core is pending; null: none. */
  #asked: SleepingConnection | null = null;

  /** `socket`: just accepted; `start` begins the handshake. `address`: its address key; empty: no limit per address. */
  constructor(socket: Socket, address: string, context: SleepListenerContext) {
    this.#context = context;
    this.#socket = socket;
    this.address = address;
    this.#proxyHeader = context.settings.proxy_protocol ? new ProxyHeaderDecoder() : null;
    const nowMs = context.clock.monotonicMs();
    this.deadlineMs = nowMs + context.settings.login_deadline_ms;
    context.pending.add(this);
    context.unproved.add(address, this, nowMs);
  }

  start(): void {
    const { settings, secureContext } = this.#context;
    adoptSocket(this.#socket, this);
    // In TLS the peer speaks first: until TLS takes over, its bytes stay in the socket.
    if (settings.proxy_protocol || secureContext === null) startReading(this.#socket);
    if (!settings.proxy_protocol) this.#apply();
  }

  admitted(): void {
    const { clock, settings, secureContext } = this.#context;
    this.#waitUntil(clock.monotonicMs() + settings.login_deadline_ms);
    if (secureContext === null) this.#sendSessionKey();
    else this.#secure(secureContext);
  }

  received(chunk: Buffer): void {
    switch (this.#stage) {
      case 'arriving':
        this.#readProxyHeader(chunk);
        break;
      case 'admitting':
        this.#refuse('malformed', false);
        break;
      case 'proving':
        this.#readLoginLine(chunk);
        break;
      case 'refusing':
        this.#discardedBytes += chunk.length;
        if (this.#discardedBytes > refusalDiscardBytesMax) this.drop();
        break;
      case 'securing':
      case 'asking':
      case 'over':
        break;
    }
  }

  peerEnded(): void {
    // The refusal is still being sent; the socket closes after it, or at the deadline.
    if (this.#stage !== 'refusing') this.drop();
  }

  failed(): void {
    if (this.#stage === 'securing') this.#refuse('malformed', false);
    else this.drop();
  }

  expire(): void {
    this.#asked?.abandon('node_lost');
    if (this.#stage === 'refusing') this.drop();
    else if (this.#stage === 'admitting' || this.#stage === 'asking') this.turnAway();
    else this.#refuse('timeout', this.#loginLine.wantsReply);
  }

  turnAway(): void {
    if (this.#stage === 'refusing') this.drop();
    else this.#refuse('busy', this.#wantsReply || this.#loginLine.wantsReply);
  }

  evict(): void {
    if (this.#stage !== 'refusing') this.#context.telemetry.sleepLogin('busy');
    this.drop();
  }

  drop(): void {
    this.#asked?.abandon('drain');
    this.#leave();
    this.#socket.destroy();
  }

  #readProxyHeader(chunk: Buffer): void {
    assert(this.#proxyHeader !== null, 'only a PROXY header is awaited');
    const step = this.#proxyHeader.feed(chunk);
    if (step.kind === 'incomplete') return;
    if (step.kind === 'invalid') return this.#refuse('malformed', false);
    if (this.#context.secureContext !== null) {
      stopReading(this.#socket);
      if (step.rest.length > 0) this.#socket.unshift(step.rest);
    } else if (step.rest.length > 0) return this.#refuse('malformed', false);
    this.#source = step.source;
    if (step.source !== null) this.#rename(step.source);
    this.#apply();
  }

  /** Counts the connection under the address of the PROXY header from now on. */
  #rename(source: string): void {
    const { admission, unproved, clock } = this.#context;
    if (!admission.countsAddresses) return;
    unproved.delete(this.address, this);
    this.address = addressKey(source);
    unproved.add(this.address, this, clock.monotonicMs());
  }

  #apply(): void {
    const { admission, clock, settings } = this.#context;
    this.#stage = 'admitting';
    this.#waitUntil(clock.monotonicMs() + settings.admission_wait_ms);
    if (!admission.apply(this)) this.turnAway();
  }

  #secure(secureContext: SecureContext): void {
    this.#stage = 'securing';
    this.#socket = encryptSocket(this.#socket, secureContext, this);
    this.#socket.once('secure', () => this.#secured());
  }

  #secured(): void {
    if (this.#stage !== 'securing') return;
    this.#sendSessionKey();
    startReading(this.#socket);
  }

  #sendSessionKey(): void {
    this.#stage = 'proving';
    this.#sessionKey = generateSessionKey();
    this.#socket.write(this.#sessionKey, 'latin1');
  }

  #readLoginLine(chunk: Buffer): void {
    const step = this.#loginLine.feed(chunk);
    if (step.kind === 'invalid') this.#refuse('malformed', step.wantsReply);
    else if (step.kind === 'login') this.#logIn(step.login, step.rest);
  }

  #logIn(login: SleepLogin, rest: Buffer): void {
    const connection = new SleepingConnection(this.#socket, this.#context, login.heartbeatSeconds);
    this.#wantsReply = login.wantsReply;
    const answer = this.#admit(login, connection);
    if (answer instanceof Promise) void this.#await(answer, connection, rest);
    else this.#answered(answer, connection, rest.length);
  }

  #admit(login: SleepLogin, connection: SleepingConnection): Admission | Promise<Admission> {
    const { sessions } = this.#context;
    try {
      return sessions.admit(
        login,
        this.#sessionKey,
        connection,
        this.#context.hasRoom(),
        () => this.#source ?? askAddress(this.#socket),
      );
    } catch (error) {
      this.#context.reportFailure(error);
      return 'busy';
    }
  }

  async #await(answer: Promise<Admission>, connection: SleepingConnection, rest: Buffer): Promise<void> {
    const gone = (): void => this.#leave();
    this.#stage = 'asking';
    this.#asked = connection;
    this.#socket.once('close', gone);
    handOverSocket(this.#socket, connection);
    if (rest.length > 0) connection.received(rest);
    const admission = await answer;
    this.#socket.off('close', gone);
    if (this.#stage === 'asking') this.#answered(admission, connection, 0);
    else if (typeof admission !== 'string') connection.fallAsleep(admission, false, 0);
  }

  #answered(admission: Admission, connection: SleepingConnection, restBytes: number): void {
    if (typeof admission === 'string') return this.#refuse(admission, this.#wantsReply);
    handOverSocket(this.#socket, connection);
    connection.fallAsleep(admission, this.#wantsReply, restBytes);
    this.#leave();
  }

  #refuse(reason: SleepRefusal, wantsReply: boolean): void {
    if (this.#stage === 'over') return;
    this.#asked?.abandon('drain');
    this.#context.telemetry.sleepLogin(reason);
    if (!wantsReply) return this.drop();
    this.#stage = 'refusing';
    handOverSocket(this.#socket, this);
    this.#context.admission.leave(this);
    this.#waitUntil(this.#context.clock.monotonicMs() + refusalLingerMsMax);
    this.#socket.end(`ERR ${reason}\n`, 'latin1');
  }

  #leave(): void {
    this.#stage = 'over';
    const { pending, unproved, admission } = this.#context;
    pending.remove(this);
    unproved.delete(this.address, this);
    admission.leave(this);
  }

  #waitUntil(deadlineMs: number): void {
    const { pending } = this.#context;
    const isNearer = deadlineMs < this.deadlineMs;
    this.deadlineMs = deadlineMs;
    if (this.wheelNext === null) pending.add(this);
    else if (isNearer) pending.hasten(this);
  }
}
