/**
 * Where the messaging app's platform sends its pushes: an HTTP server that believes nothing before the signature is
 * good, answers in time whatever is still under way, and tells a stranger nothing about why it refuses. What is done
 * with a call is not here.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { utf8OrNull, type PushCipher } from './push-crypto.ts';
import { readEnvelope, readMessage, type IncomingCall } from './push-message.ts';
import type { StepLog } from './step-log.ts';

/** Whether the phone may ring; if not, the platform ends the call at once and the caller sees it. */
export type Verdict = 'ring' | 'busy' | 'refused' | 'overloaded';

/** The platform takes 0 for "ring" and every other number for "do not". */
const errorCodes: Readonly<Record<Verdict, number>> = { ring: 0, busy: 1, refused: 2, overloaded: 3 };

export interface PushListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly cipher: PushCipher;
  /** Seconds that a push's time may differ from ours. */
  readonly clockWindowS: number;
  /** The answer goes out after this, and is `ring`, when `take` has not said anything by then. */
  readonly answerWithinMs: number;
  readonly take: (call: IncomingCall) => Promise<Verdict>;
  readonly log: StepLog;
}

const bodyBytesMax = 64 * 1024;
/** A push that is not whole by then is not answered; the platform itself waits 5 s. */
const requestMsMax = 5000;
const connectionsMax = 1000;

/** What an answer is made of; a refusal has no body. */
interface PushAnswer {
  readonly status: number;
  readonly text?: string;
  readonly isJson?: boolean;
}

const malformed: PushAnswer = { status: 400 };
const unsigned: PushAnswer = { status: 401 };
const tooLarge: PushAnswer = { status: 413 };

export class PushListener {
  readonly #options: PushListenerOptions;
  readonly #server: Server;

  constructor(options: PushListenerOptions) {
    this.#options = options;
    this.#server = createServer({ requestTimeout: requestMsMax, headersTimeout: requestMsMax });
    this.#server.maxConnections = connectionsMax;
    this.#server.on('request', (request, response) => void this.#serve(request, response));
  }

  /** Resolves to the port it listens on. */
  listen(): Promise<number> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => resolve((this.#server.address() as AddressInfo).port));
    });
  }

  /** Takes no more pushes; resolves when those it has are answered. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.#answer(request).catch((error: unknown) => {
      this.#options.log('push.failed', { error: String(error) });
      return { status: 500 };
    });
    send(response, answer);
  }

  async #answer(request: IncomingMessage): Promise<PushAnswer> {
    const [path, query = ''] = (request.url ?? '').split('?', 2);
    if (path !== this.#options.path) return { status: 404 };
    const parameters = new URLSearchParams(query);
    if (request.method === 'GET') return this.#verify(parameters);
    if (request.method !== 'POST') return { status: 405 };
    const body = await readBody(request);
    return typeof body === 'string' ? this.#push(parameters, body) : body;
  }

  /** The platform asks once, when the address is typed into its console, whether it is ours. */
  #verify(parameters: URLSearchParams): PushAnswer {
    const echo = parameters.get('echostr');
    if (echo === null) return this.#refuse(malformed, 'no echostr');
    const stranger = this.#strangerBy(parameters, 'signature');
    if (stranger !== null) return this.#refuse(unsigned, stranger);
    this.#options.log('push.verified');
    return { status: 200, text: echo };
  }

  async #push(parameters: URLSearchParams, body: string): Promise<PushAnswer> {
    const encrypted = readEnvelope(body);
    if (encrypted === null) return this.#refuse(malformed, 'envelope');
    const stranger = this.#strangerBy(parameters, 'msg_signature', encrypted);
    if (stranger !== null) return this.#refuse(unsigned, stranger);
    const text = this.#options.cipher.decrypt(encrypted);
    if (text === null) return this.#refuse(malformed, 'encryption');
    const message = readMessage(text);
    if (message === null) return this.#refuse(malformed, 'message');
    if ('event' in message) {
      this.#options.log('push.ignored', { event: message.event });
      return { status: 200, text: 'success' };
    }
    return verdictAnswer(await this.#verdict(message));
  }

  async #verdict(call: IncomingCall): Promise<Verdict> {
    let timer: NodeJS.Timeout | undefined;
    const timeIsUp = new Promise<Verdict>((resolve) => {
      timer = setTimeout(resolve, this.#options.answerWithinMs, 'ring');
    });
    const verdict = await Promise.race([this.#options.take(call), timeIsUp]);
    clearTimeout(timer);
    return verdict;
  }

  /** Null: it is signed with our token, and about now. The time is signed too, so that it is looked at last. */
  #strangerBy(
    parameters: URLSearchParams,
    signatureName: string,
    ...encrypted: readonly string[]
  ): 'signature' | 'time' | null {
    const timestamp = parameters.get('timestamp') ?? '';
    const nonce = parameters.get('nonce') ?? '';
    const { cipher, clockWindowS } = this.#options;
    if (!cipher.isSigned(parameters.get(signatureName) ?? '', timestamp, nonce, ...encrypted))
      return 'signature';
    const ageS = /^\d{1,12}$/.test(timestamp) ? Date.now() / 1000 - Number(timestamp) : NaN;
    return Math.abs(ageS) <= clockWindowS ? null : 'time';
  }

  /** The reason is for our log alone. */
  #refuse(answer: PushAnswer, reason: string): PushAnswer {
    this.#options.log('push.refused', { reason });
    return answer;
  }
}

/** As the platform's page on this push has it, in the clear. */
function verdictAnswer(verdict: Verdict): PushAnswer {
  const errmsg = verdict === 'ring' ? 'ok' : verdict;
  return { status: 200, text: JSON.stringify({ errcode: errorCodes[verdict], errmsg }), isJson: true };
}

/** The connection of a request that was not read to its end cannot be used again. */
function send(response: ServerResponse, { status, text = '', isJson = false }: PushAnswer): void {
  const type = isJson ? 'application/json' : 'text/plain';
  if (!response.req.complete) response.setHeader('Connection', 'close');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.writeHead(status, { 'Content-Type': `${type}; charset=utf-8` }).end(text);
}

function readBody(request: IncomingMessage): Promise<string | PushAnswer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve) => {
    request.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= bodyBytesMax) pieces.push(piece);
      else resolve(tooLarge);
    });
    request.on('end', () => resolve(utf8OrNull(Buffer.concat(pieces)) ?? malformed));
    request.on('error', () => resolve(malformed));
    request.on('close', () => resolve(malformed));
  });
}
