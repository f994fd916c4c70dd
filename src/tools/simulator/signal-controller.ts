/**
 * A device's controller in software: one WebSocket to the signal listener; answers the challenge, receives messages, and sends
 * heartbeats on request. For the simulator, the demo and the tests; tens of thousands fit into one process.
 * Source: signal-wire.md.
 */
import type { ConnectionOptions } from 'node:tls';
import { WebSocket } from 'ws';
import { deferred } from '../../lib/deferred.ts';
import type { RejectionReason } from '../../model/call.ts';
import type { JsonObject } from '../../model/json.ts';
import type { DeviceMessage, WakeCause } from '../../model/signal.ts';
import { computeSignalMac } from '../../protocol/signal/controller-message.ts';
import type { Welcome } from '../../protocol/signal/server-message.ts';
import { AwaitedItems } from './awaited-items.ts';
import { onFailedOpening, type SocketClosed } from './opened-socket.ts';

export interface SignalControllerOptions {
  /** `ws://host:port` or `wss://host:port`. Default path: `/v1/signal`. */
  readonly url: string;
  readonly deviceId: string;
  readonly secret: string;
  readonly media?: JsonObject;
  /** Acknowledges every message at once. Default: false. */
  readonly autoAcknowledge?: boolean;
  /** Called with every message. Default: queued for `nextMessage`. */
  readonly onMessage?: (message: DeviceMessage, controller: SignalController) => void;
  /** TLS options of Node, for `wss:`. */
  readonly tls?: ConnectionOptions | undefined;
  readonly localAddress?: string | undefined;
}

/** The server refused the login; `code`: the close code, or the HTTP status of a refused upgrade. */
export class SignalRefused extends Error {
  readonly code: number;
  readonly reason: string;

  constructor({ code, reason }: SocketClosed) {
    super(`the signal listener refused the login: ${code} ${reason}`);
    this.code = code;
    this.reason = reason;
  }
}

const subprotocol = 'reveille.signal.v1';
/** Maximum queued messages; beyond it the newest are dropped. */
const messagesKeptMax = 1024;

export class SignalController {
  /** Resolves when the connection is closed by either side. */
  readonly closed: Promise<SocketClosed>;
  readonly #options: SignalControllerOptions;
  readonly #socket: WebSocket;
  readonly #login = deferred<SignalController>();
  readonly #messages = new AwaitedItems<DeviceMessage>(messagesKeptMax, 'the signal connection is closed');
  #welcome: Welcome | null = null;
  #heartbeatAcks = 0;

  private constructor(options: SignalControllerOptions) {
    this.#options = options;
    const { tls, localAddress } = options;
    const given = { ...tls, perMessageDeflate: false, localAddress };
    this.#socket = new WebSocket(urlOf(options.url), subprotocol, given);
    this.closed = new Promise((resolve) => {
      this.#socket.on('close', (code, reason) => resolve(this.#onClosed({ code, reason: String(reason) })));
    });
    this.#socket.on('message', (text: Buffer) => this.#receive(JSON.parse(text.toString('utf8'))));
    onFailedOpening(this.#socket, (answer) => new SignalRefused(answer), this.#login.reject);
  }

  /**
   * Connects and logs in; resolves on the welcome. Rejects with SignalRefused if the server refuses, with the socket's error
   * if it is unreachable.
   */
  static connect(options: SignalControllerOptions): Promise<SignalController> {
    return new SignalController(options).#login.promise;
  }

  get welcome(): Welcome {
    if (this.#welcome === null) throw new Error('the controller is not logged in yet');
    return this.#welcome;
  }

  get heartbeatAcks(): number {
    return this.#heartbeatAcks;
  }

  /** Resolves with the next message, in order; rejects if the connection closes first. */
  nextMessage(): Promise<DeviceMessage> {
    return this.#messages.next();
  }

  acknowledge(id: string): void {
    this.#send({ type: 'ack', id });
  }

  heartbeat(): void {
    this.#send({ type: 'heartbeat' });
  }

  /** Sends a WebSocket ping, which counts as a heartbeat. */
  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
  }

  reportWake(cause: WakeCause, requestId?: string): void {
    this.#send({ type: 'wake_report', cause, ...(requestId === undefined ? {} : { request_id: requestId }) });
  }

  /** Rejects a call instead of joining it. */
  rejectCall(session: string, reason: RejectionReason): void {
    this.#send({ type: 'call_reject', session, reason });
  }

  /** Sends `bye`; the server then closes with 1000. */
  bye(reason: string): Promise<SocketClosed> {
    this.#send({ type: 'bye', reason });
    return this.closed;
  }

  /** Closes with a close frame, without `bye`. */
  close(): Promise<SocketClosed> {
    this.#socket.close(1000);
    return this.closed;
  }

  /** Cuts the TCP connection, with a RST unless it is encrypted. */
  terminate(): Promise<SocketClosed> {
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
        this.#welcome = message as unknown as Welcome;
        this.#login.resolve(this);
        break;
      case 'heartbeat_ack':
        this.#heartbeatAcks += 1;
        break;
      case 'message':
        this.#receiveMessage(message as unknown as DeviceMessage);
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

  #receiveMessage({ id, name, payload }: DeviceMessage): void {
    const message = { id, name, payload };
    if (this.#options.autoAcknowledge === true) this.acknowledge(id);
    const { onMessage } = this.#options;
    if (onMessage !== undefined) return onMessage(message, this);
    this.#messages.push(message);
  }

  #onClosed(closed: SocketClosed): SocketClosed {
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
