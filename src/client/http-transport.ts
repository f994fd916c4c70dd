/**
 * Sends requests over keep-alive connections, byte for byte as signed: a library that normalizes the target or headers would
 * break the signature. Connections and pending requests are bounded; a request waits for a connection within its deadline.
 * Long polls use their own connections, so that they do not delay other requests.
 */
import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type IncomingHttpHeaders,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import { eventsPageCharactersMax } from '../model/limits.ts';
import { ReveilleProtocolError, ReveilleUnreachableError } from './client-errors.ts';

export interface WireRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  /** Maximum time until the last byte of the reply. */
  readonly deadlineMs: number;
  /** Uses a connection of the long polls. */
  readonly isLongPoll: boolean;
  readonly signal: AbortSignal;
}

export interface WireReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

export interface Transport {
  /**
   * Sends the request once. Rejects with a ReveilleUnreachableError without a reply in time, with a ReveilleProtocolError if
   * the reply is too large, and with the signal's reason if aborted.
   */
  send(request: WireRequest): Promise<WireReply>;
  /** Closes the idle connections. */
  close(): void;
}

/** Below the server's 10 s idle timeout, so that no request is sent into a connection that the server is closing. */
const idleConnectionMs = 4000;

/** Maximum pending requests, including those that wait for a connection; beyond it a request fails as unreachable. */
const requestsUnderWayMax = 10_000;

/** The largest page of events, at four bytes a character. */
const replyBytesMax = 4 * eventsPageCharactersMax + 64 * 1024;

export class HttpTransport implements Transport {
  readonly #origin: string;
  readonly #clock: Clock;
  readonly #isSecure: boolean;
  readonly #agents: { readonly brief: HttpAgent; readonly longPoll: HttpAgent };
  #underWay = 0;

  /** `socketsMax`: maximum connections, and as many again for long polls. */
  constructor(origin: string, socketsMax: number, clock: Clock, tls: ConnectionOptions = {}) {
    this.#origin = origin;
    this.#clock = clock;
    this.#isSecure = origin.startsWith('https:');
    const options = { keepAlive: true, timeout: idleConnectionMs, maxSockets: socketsMax };
    const newAgent = (): HttpAgent =>
      this.#isSecure ? new HttpsAgent({ ...tls, ...options }) : new HttpAgent(options);
    this.#agents = { brief: newAgent(), longPoll: newAgent() };
  }

  async send(request: WireRequest): Promise<WireReply> {
    request.signal.throwIfAborted();
    if (this.#underWay >= requestsUnderWayMax)
      throw this.#unreachable(false, new Error(`${requestsUnderWayMax} requests are pending`));
    this.#underWay += 1;
    try {
      return await this.#exchange(request);
    } finally {
      this.#underWay -= 1;
    }
  }

  close(): void {
    this.#agents.brief.destroy();
    this.#agents.longPoll.destroy();
  }

  async #exchange(request: WireRequest): Promise<WireReply> {
    const { body, deadlineMs, signal } = request;
    const sent = this.#begin(request);
    const hasConnected = watchConnection(sent, this.#isSecure ? 'secureConnect' : 'connect');
    let givenUp: Error | null = null;
    const giveUp = (reason: Error): void => {
      givenUp = reason;
      sent.destroy(reason);
    };
    const abort = (): void => giveUp(signal.reason as Error);
    const cancel = this.#clock.after(deadlineMs, () =>
      giveUp(new Error(`no answer within ${deadlineMs / 1000} s`)),
    );
    signal.addEventListener('abort', abort);
    try {
      const replied = responseTo(sent);
      sent.end(body ?? undefined);
      return await this.#read(await replied);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ReveilleProtocolError) throw error;
      throw this.#unreachable(hasConnected(), givenUp ?? (error as Error));
    } finally {
      cancel();
      signal.removeEventListener('abort', abort);
    }
  }

  #begin({ method, target, headers, isLongPoll }: WireRequest): ClientRequest {
    const agent = isLongPoll ? this.#agents.longPoll : this.#agents.brief;
    const options = { method, path: target, headers, agent };
    return this.#isSecure ? httpsRequest(this.#origin, options) : httpRequest(this.#origin, options);
  }

  async #read(response: IncomingMessage): Promise<WireReply> {
    const { statusCode: status = 0, headers } = response;
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > replyBytesMax)
        throw new ReveilleProtocolError(this.#origin, status, `more than ${replyBytesMax} bytes`);
      chunks.push(chunk);
    }
    return { status, headers, body: Buffer.concat(chunks) };
  }

  #unreachable(mayHaveArrived: boolean, cause: Error): ReveilleUnreachableError {
    return new ReveilleUnreachableError(this.#origin, mayHaveArrived, cause);
  }
}

/** Returns whether the connection is established; before that, no byte of the request has been sent. */
function watchConnection(sent: ClientRequest, connected: 'connect' | 'secureConnect'): () => boolean {
  let stands = false;
  sent.once('socket', (socket) => {
    if (!socket.connecting) stands = true;
    else
      socket.once(connected, () => {
        stands = true;
      });
  });
  return () => stands;
}

function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on('response', resolve);
    // Stays attached: a later error also fails the reading of the response.
    sent.on('error', reject);
  });
}
