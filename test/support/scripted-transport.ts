/** A client whose transport answers from a script, one entry per request, and records the requests. */
import assert from 'node:assert/strict';
import { ReveilleUnreachableError } from '../../src/client/client-errors.ts';
import { ReveilleClient, type RetrySettings } from '../../src/client/reveille-client.ts';
import type { Transport, WireReply, WireRequest } from '../../src/client/http-transport.ts';
import { DrivenClock } from './driven-clock.ts';

export type ScriptEntry = WireReply | Error | ((request: WireRequest) => Promise<WireReply>);

export const scriptedOrigin = 'http://reveille.test';

export class ScriptedTransport implements Transport {
  readonly requests: WireRequest[] = [];
  isClosed = false;
  readonly #script: ScriptEntry[];

  constructor(...script: readonly ScriptEntry[]) {
    this.#script = [...script];
  }

  async send(request: WireRequest): Promise<WireReply> {
    this.requests.push(request);
    const entry = this.#script.shift();
    assert.ok(entry !== undefined, `request ${this.requests.length} is not in the script`);
    if (entry instanceof Error) throw entry;
    return typeof entry === 'function' ? entry(request) : entry;
  }

  close(): void {
    this.isClosed = true;
  }

  /** The values of a header in all requests so far; undefined: absent. */
  sent(name: string): (string | undefined)[] {
    return this.requests.map(({ headers }) => headers[name]);
  }
}

export interface ClientScene {
  readonly clock: DrivenClock;
  readonly transport: ScriptedTransport;
  readonly client: ReveilleClient;
}

export const scriptedCredential = {
  accessKeyId: 'AKclient',
  secretKey: 'a secret of the client',
  appId: '2818153',
};

/** Random jitter is zero. */
export function playScript(
  script: readonly ScriptEntry[],
  retry: Partial<RetrySettings> = {},
  random = (): number => 0,
): ClientScene {
  const clock = new DrivenClock();
  const transport = new ScriptedTransport(...script);
  const options = { origin: scriptedOrigin, credential: scriptedCredential, clock, random, transport, retry };
  return { clock, transport, client: new ReveilleClient(options) };
}

/** Resolves when the client has done all it can do now. */
export function untilIdle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

export function reply(
  status: number,
  body: object | string,
  headers: Record<string, string> = {},
): WireReply {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers: { 'x-tg-request-id': 'server-made', ...headers }, body: Buffer.from(text) };
}

export function success(data: object, status = 200): WireReply {
  return reply(status, { code: 0, message: 'success', data });
}

export function refused(code: number, headers: Record<string, string> = {}, message = 'refused'): WireReply {
  return reply(Math.floor(code / 100), { code, message }, headers);
}

/** Connection refused: nothing was sent. */
export function unsent(): Error {
  return new ReveilleUnreachableError(scriptedOrigin, false, new Error('connect ECONNREFUSED'));
}

/** The connection closed before an answer. */
export function unanswered(): Error {
  return new ReveilleUnreachableError(scriptedOrigin, true, new Error('socket hang up'));
}

/** Never answers; aborts with its call. */
export function silence({ signal }: WireRequest): Promise<WireReply> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}
