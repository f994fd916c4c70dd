/**
 * A low-power module played in software: it connects, answers the session key with its login line, sends
 * heartbeats and reads wake packets. For the simulator, the demo and the tests; thousands fit in one process.
 * Source: sleep-wire.md, Exchange.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { AwaitedItems, ConnectionGone } from './awaited-items.ts';
import type { WakeMode } from '../../model/sleep.ts';
import { adoptSocket, startReading, type SocketOwner } from '../../edge/owned-socket.ts';
import { encodeLoginLine } from '../../protocol/sleep/login-line.ts';
import { sessionKeyLength } from '../../lib/session-key.ts';
import { wakePacketBytes } from '../../protocol/sleep/wake-packet.ts';

export interface SleepingModuleOptions {
  readonly deviceId: string;
  readonly secret: string;
  /** `custom` when left out. */
  readonly wakeMode?: WakeMode;
  /** 50 when left out. */
  readonly heartbeatSeconds?: number;
  /** True, when left out: the server answers the login, and `connect` waits for that. */
  readonly reply?: boolean;
  /** 127.0.0.1 when left out. */
  readonly host?: string;
  /** The address to come from. */
  readonly localAddress?: string | undefined;
  /** Of Node's TLS connections; null or left out: plain TCP. */
  readonly tls?: ConnectionOptions | null;
  /** From the attempt to connect to the end of the login; 15 000 when left out. */
  readonly loginMsMax?: number;
}

/**
 * Who hears nothing for so long may have a connection that the server never had: the kernel's queue in front of it was full.
 * Source: sleep-protocol.md, Deadlines.
 */
const usualLoginMsMax = 15_000;

/** The server said `ERR`; `reason` is its word. */
export class LoginRefused extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`the sleep server refused the login: ${reason}`);
    this.reason = reason;
  }
}

interface Waiter {
  readonly resolve: (module: SleepingModule) => void;
  readonly reject: (error: Error) => void;
}

/** `greeting`: awaits the session key. `answering`: has sent its line and awaits OK or ERR. */
type Stage = 'greeting' | 'answering' | 'asleep' | 'closed';

/** What the known firmware sends: 64 bytes of no meaning. */
const heartbeatBytes = Buffer.alloc(64, 0x2e);
/** Packets kept for `nextPacket`; beyond it the newest are let go. */
const packetsKeptMax = 1024;
const goneMessage = 'the sleep server closed the connection';

export class SleepingModule implements SocketOwner {
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>;
  readonly #options: SleepingModuleOptions;
  readonly #socket: Socket;
  readonly #login: Waiter;
  readonly #packets = new AwaitedItems<Buffer>(packetsKeptMax, goneMessage);
  #noteClosed: () => void = () => undefined;
  #stage: Stage = 'greeting';
  #held: Buffer = Buffer.alloc(0);

  private constructor(port: number, options: SleepingModuleOptions, login: Waiter) {
    this.#options = options;
    this.#login = login;
    this.closed = new Promise((resolve) => {
      this.#noteClosed = resolve;
    });
    this.#socket = openSocket(port, options);
  }

  /**
   * Connects and logs in. With `reply` resolves on the server's OK and rejects with LoginRefused on its ERR;
   * without it resolves when the login line has been sent, whatever the server makes of it.
   */
  static connect(port: number, options: SleepingModuleOptions): Promise<SleepingModule> {
    return new Promise((resolve, reject) => {
      new SleepingModule(port, options, { resolve, reject }).#open();
    });
  }

  /** Sends one heartbeat. */
  heartbeat(): void {
    this.#socket.write(heartbeatBytes);
  }

  /** The next 8 bytes from the server, in their order; rejects when the connection is gone first. */
  nextPacket(): Promise<Buffer> {
    return this.#packets.next();
  }

  /** Hangs up with a FIN. */
  close(): Promise<void> {
    this.#socket.destroy();
    return this.closed;
  }

  /** Hangs up with a RST. */
  reset(): Promise<void> {
    this.#socket.resetAndDestroy();
    return this.closed;
  }

  received(chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    if (this.#stage === 'greeting') this.#readSessionKey();
    if (this.#stage === 'answering') this.#readAnswer();
    if (this.#stage === 'asleep') this.#readPackets();
  }

  peerEnded(): void {
    this.failed();
  }

  failed(): void {
    if (this.#stage === 'closed') return;
    // A server that waits for TLS sends no session key, and ends the connection.
    const gone = new ConnectionGone(goneMessage);
    if (this.#stage === 'greeting') Object.assign(gone, { code: 'ECONNRESET' });
    this.#stage = 'closed';
    this.#socket.destroy();
    this.#login.reject(gone);
    this.#packets.end();
    this.#noteClosed();
  }

  #open(): void {
    // What TLS says is its own event, which comes before that of the socket.
    this.#socket.once('_tlsError', this.#login.reject).once('error', this.#login.reject);
    adoptSocket(this.#socket, this);
    startReading(this.#socket);
    const { loginMsMax = usualLoginMsMax } = this.#options;
    this.#socket.setTimeout(loginMsMax, () => this.#giveUp(loginMsMax));
  }

  #giveUp(afterMs: number): void {
    const awaited = this.#stage === 'greeting' ? 'session key' : 'answer to the login';
    this.#login.reject(new Error(`no ${awaited} within ${afterMs / 1000} s`));
    this.failed();
  }

  #fallAsleep(): void {
    this.#stage = 'asleep';
    this.#socket.setTimeout(0);
  }

  #readSessionKey(): void {
    if (this.#held.length < sessionKeyLength) return;
    const sessionKey = this.#take(sessionKeyLength).toString('latin1');
    const { deviceId, secret, wakeMode = 'custom', heartbeatSeconds = 50, reply = true } = this.#options;
    const credentials = { deviceId, secret, wakeMode, heartbeatSeconds, wantsReply: reply };
    if (reply) this.#stage = 'answering';
    else this.#fallAsleep();
    this.#socket.write(encodeLoginLine(credentials, sessionKey), 'latin1', () => {
      if (!reply) this.#login.resolve(this);
    });
  }

  #readAnswer(): void {
    const lineEnd = this.#held.indexOf('\n');
    if (lineEnd === -1) return;
    const answer = this.#take(lineEnd + 1)
      .toString('latin1')
      .trimEnd();
    if (answer === 'OK') {
      this.#fallAsleep();
      this.#login.resolve(this);
    } else {
      this.#login.reject(new LoginRefused(answer.replace('ERR ', '')));
    }
  }

  #readPackets(): void {
    while (this.#held.length >= wakePacketBytes) this.#packets.take(this.#take(wakePacketBytes));
  }

  #take(count: number): Buffer {
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return taken;
  }
}

function openSocket(port: number, options: SleepingModuleOptions): Socket {
  const { host = '127.0.0.1', localAddress, tls = null } = options;
  const to = { host, port, localAddress };
  if (tls === null) return connectTcp({ ...to, noDelay: true });
  const servername = isIP(host) === 0 ? host : '';
  return connectTls({ ...tls, ...to, servername }).setNoDelay(true);
}
