/**
 * A device's controller played in software: it holds one WebSocket to the signal listener, answers the challenge,
 * takes messages, sends heartbeats when it is asked to. For the simulator, the demo and the tests; ten thousands fit in one process.
 * Source: signal-wire.md.
 */
import type { ConnectionOptions } from 'node:tls';
import { WebSocket } from 'ws';
import type { RejectionReason } from '../../model/call.ts';
import type { JsonObject } from '../../model/json.ts';
import type { DeviceMessage, WakeCause } from '../../model/signal.ts';
import { computeSignalMac } from '../../protocol/signal/controller-message.ts';
import type { Welcome } from '../../protocol/signal/server-message.ts';
import { AwaitedItems } from './awaited-items.ts';

export interface SignalControllerOptions {
  /** `ws://host:port` or `wss://host:port`; `/v1/signal` where it has no path. */
  readonly url: string;
  readonly deviceId: string;
  readonly secret: string;
  readonly media?: JsonObject;
  /** Answers every message at once; false when left out. */
  readonly autoAcknowledge?: boolean;
  /** Gets every message; where it is left out they wait for `nextMessage`. */
  readonly onMessage?: (message: DeviceMessage, controller: SignalController) => void;
  /** Options of Node's TLS connections, for `wss:`. */
  readonly tls?: ConnectionOptions | undefined;
  /** The address to come from. */
  readonly localAddress?: string | undefined;
}

export interface SignalClosed {
  /** 1006: it broke without a close frame. */
  readonly code: number;
  readonly reason: string;
}

/** The server did not let it in; `code` is the close code, or the HTTP status where the upgrade was refused. */
export class SignalRefused extends Error {
  readonly code: number;
  readonly reason: string;

  constructor({ code, reason }: SignalClosed) {
    super(`the signal listener refused the login: ${code} ${reason}`);
    this.code = code;
    this.reason = reason;
  }
}

interface Waiter {
  readonly resolve: (controller: SignalController) => void;
  readonly reject: (error: Error) => void;
}

const subprotocol = 'reveille.signal.v1';
/** Messages kept for `nextMessage`; beyond it the newest are let go. */
const messagesKeptMax = 1024;

export class SignalController {
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<SignalClosed>;
  readonly #options: SignalControllerOptions;
  readonly #socket: WebSocket;
  readonly #login: Waiter;
  readonly #messages = new AwaitedItems<DeviceMessage>(messagesKeptMax, 'the signal connection is closed');
  #welcome: Welcome | null = null;
  #heartbeatAcks = 0;

  private constructor(options: SignalControllerOptions, login: Waiter) {
    this.#options = options;
    this.#login = login;
    const { tls, localAddress } = options;
    const given = { ...tls, perMessageDeflate: false, localAddress };
    this.#socket = new WebSocket(urlOf(options.url), subprotocol, given);
    this.closed = new Promise((resolve) => {
      this.#socket.on('close', (code, reason) => resolve(this.#noteClosed({ code, reason: String(reason) })));
    });
    this.#socket.on('message', (text: Buffer) => this.#receive(JSON.parse(text.toString('utf8'))));
    this.#socket.on('error', login.reject);
    this.#socket.on('unexpected-response', (request, response) => {
      let reason = '';
      response.on('data', (chunk: Buffer) => (reason += chunk.toString('latin1')));
      response.on('end', () => {
        login.reject(new SignalRefused({ code: response.statusCode ?? 0, reason }));
        request.destroy();
      });
    });
  }

  /**
   * Connects and logs in; resolves on the welcome. Rejects with SignalRefused when the server says no, with the
   * socket's error when it cannot be reached.
   */
  static connect(options: SignalControllerOptions): Promise<SignalController> {
    return new Promise((resolve, reject) => void new SignalController(options, { resolve, reject }));
  }

  get welcome(): Welcome {
    if (this.#welcome === null) throw new Error('a controller has its welcome once it is connected');
    return this.#welcome;
  }

  /** Heartbeats that the server has answered. */
  get heartbeatAcks(): number {
    return this.#heartbeatAcks;
  }

  /** The next message, in their order; rejects when the connection is gone first. */
  nextMessage(): Promise<DeviceMessage> {
    return this.#messages.next();
  }

  acknowledge(id: string): void {
    this.#send({ type: 'ack', id });
  }

  heartbeat(): void {
    this.#send({ type: 'heartbeat' });
  }

  /** The same to the server, by a WebSocket ping. */
  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
  }

  reportWake(cause: WakeCause, requestId?: string): void {
    this.#send({ type: 'wake_report', cause, ...(requestId === undefined ? {} : { request_id: requestId }) });
  }

  /** Takes no call, and joins none. */
  rejectCall(session: string, reason: RejectionReason): void {
    this.#send({ type: 'call_reject', session, reason });
  }

  /** Says goodbye; the server then closes with 1000. */
  bye(reason: string): Promise<SignalClosed> {
    this.#send({ type: 'bye', reason });
    return this.closed;
  }

  /** Closes with a close frame and no word before it. */
  close(): Promise<SignalClosed> {
    this.#socket.close(1000);
    return this.closed;
  }

  /** Cuts the TCP connection: an RST, where the connection is not encrypted. */
  terminate(): Promise<SignalClosed> {
    const { _socket: socket } = this.#socket as unknown as { _socket?: { resetAndDestroy(): void } };
    if (this.#options.url.startsWith('ws:')) socket?.resetAndDestroy();
    this.#socket.terminate();
    return this.closed;
  }

  #send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #receive(message: { readonly type?: string; readonly session_key?: string }): void {
    switch (message.type) {
      case 'challenge':
        this.#answer(message.session_key ?? '');
        break;
      case 'welcome':
        this.#comeIn(message as unknown as Welcome);
        break;
      case 'heartbeat_ack':
        this.#heartbeatAcks += 1;
        break;
      case 'message':
        this.#take(message as unknown as DeviceMessage);
        break;
      default:
        break;
    }
  }

  #answer(sessionKey: string): void {
    const { deviceId, secret, media } = this.#options;
    const mac = computeSignalMac(secret, sessionKey, deviceId).toString('hex');
    this.#send({ type: 'login', device_id: deviceId, mac, ...(media === undefined ? {} : { media }) });
  }

  #comeIn(welcome: Welcome): void {
    this.#welcome = welcome;
    this.#login.resolve(this);
  }

  #take({ id, name, payload }: DeviceMessage): void {
    const message = { id, name, payload };
    if (this.#options.autoAcknowledge === true) this.acknowledge(id);
    const { onMessage } = this.#options;
    if (onMessage !== undefined) return onMessage(message, this);
    this.#messages.take(message);
  }

  #noteClosed(closed: SignalClosed): SignalClosed {
    this.#login.reject(new SignalRefused(closed));
    this.#messages.end();
    return closed;
  }
}

function urlOf(text: string): URL {
  const url = new URL(text);
  if (url.pathname === '/') url.pathname = '/v1/signal';
  return url;
}
