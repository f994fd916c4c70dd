/**
 * A low-power module in software: connects, answers the session key with its login line, sends heartbeats and reads wake
 * packets. For the simulator, the demo and the tests; thousands fit into one process.
 * Source: sleep-wire.md, Exchange.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { AwaitedItems, ConnectionGone } from './awaited-items.ts';
import { deferred } from '../../lib/deferred.ts';
import type { WakeMode } from '../../model/sleep.ts';
import { adoptSocket, startReading, type SocketOwner } from '../../edge/owned-socket.ts';
import { encodeLoginLine } from '../../protocol/sleep/login-line.ts';
import { sessionKeyLength } from '../../lib/session-key.ts';
import { wakePacketBytes } from '../../protocol/sleep/wake-packet.ts';

export interface SleepingModuleOptions {
  readonly deviceId: string;
  readonly secret: string;
  /** Default: `custom`. */
  readonly wakeMode?: WakeMode;
  /** Default: 50. */
  readonly heartbeatSeconds?: number;
  /** Requests an answer to the login, for which `connect` waits. Default: true. */
  readonly reply?: boolean;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  readonly localAddress?: string | undefined;
  /** TLS options of Node; null: plain TCP. Default: null. */
  readonly tls?: ConnectionOptions | null;
  /** Maximum time from connecting to the end of the login. Default: 15 000. */
  readonly loginMsMax?: number;
}

/**
 * Default login timeout. Without it a module could wait forever on a connection that the server never accepted, because the
 * kernel's accept queue was full. Source: sleep-protocol.md, Deadlines.
 */
const usualLoginMsMax = 15_000;

/** The server answered `ERR`; `reason` is its word. */
export class LoginRefused extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`the sleep server refused the login: ${reason}`);
    this.reason = reason;
  }
}

/** `greeting`: awaits the session key. `answering`: has sent its line and awaits OK or ERR. */
type Stage = 'greeting' | 'answering' | 'asleep' | 'closed';

/** Like the known firmware: 64 bytes without meaning. */
const heartbeatBytes = Buffer.alloc(64, 0x2e);
/** Maximum queued packets; beyond it the newest are dropped. */
const packetsKeptMax = 1024;
const goneMessage = 'the sleep server closed the connection';

export class SleepingModule implements SocketOwner {
  readonly #options: SleepingModuleOptions;
  readonly #socket: Socket;
  readonly #login = deferred<SleepingModule>();
  readonly #packets = new AwaitedItems<Buffer>(packetsKeptMax, goneMessage);
  readonly #closed = deferred();
  #stage: Stage = 'greeting';
  #held: Buffer = Buffer.alloc(0);

  private constructor(port: number, options: SleepingModuleOptions) {
    this.#options = options;
    this.#socket = openSocket(port, options);
  }

  /**
   * Connects and logs in. With `reply`, resolves on the server's OK and rejects with LoginRefused on its ERR; without it,
   * resolves when the login line is sent.
   */
  static connect(port: number, options: SleepingModuleOptions): Promise<SleepingModule> {
    const module = new SleepingModule(port, options);
    module.#open();
    return module.#login.promise;
  }

  /** Resolves when the connection is closed by either side. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  heartbeat(): void {
    this.#socket.write(heartbeatBytes);
  }

  /** Resolves with the next 8 bytes from the server, in order; rejects if the connection closes first. */
  nextPacket(): Promise<Buffer> {
    return this.#packets.next();
  }

  /** Closes with a FIN. */
  close(): Promise<void> {
    this.#socket.destroy();
    return this.closed;
  }

  /** Closes with a RST. */
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
    // A TLS listener sends no session key to a plain client, and closes the connection.
    const gone = new ConnectionGone(goneMessage);
    if (this.#stage === 'greeting') Object.assign(gone, { code: 'ECONNRESET' });
    this.#stage = 'closed';
    this.#socket.destroy();
    this.#login.reject(gone);
    this.#packets.end();
    this.#closed.resolve();
  }

  #open(): void {
    // `_tlsError` has the reason of a TLS failure, and precedes the socket's event.
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
    const sessionKey = this.#consume(sessionKeyLength).toString('latin1');
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
    const answer = this.#consume(lineEnd + 1)
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
    while (this.#held.length >= wakePacketBytes) this.#packets.push(this.#consume(wakePacketBytes));
  }

  #consume(count: number): Buffer {
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
