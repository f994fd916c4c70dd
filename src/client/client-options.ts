/**
 * The options of a client and of each call, and the retry policy. A request is sent again only when repeating it cannot do
 * anything twice: a query changes nothing, a wakeup is known by its signature, credentials are those of one session. A
 * message has no id of its caller, so it is sent again only when nothing of it has left.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { SigningCredential } from '../protocol/tgv1/sign-request.ts';
import type { Transport } from './http-transport.ts';
import { assert } from '../lib/assert.ts';
import type { OrderedEndReason } from '../model/call.ts';
import type { FailureCode } from '../model/codes.ts';
import type { ApiResult } from './answers.ts';
import type { ReveilleProtocolError, ReveilleUnreachableError } from './client-errors.ts';

export interface RetrySettings {
  /** Requests sent for one call, the first included; 1: none is sent again. Default 3. */
  readonly attemptsMax: number;
  /** The first wait, about: each further one is twice as long, and by chance up to half shorter. Default 200. */
  readonly delayMsMin: number;
  /** The longest wait without a word from the server. Default 5000. */
  readonly delayMsMax: number;
  /** A server that says to come back later than this is not waited for: its answer is the result. Default 10 000. */
  readonly retryAfterMsMax: number;
}

/** What is not given is as usual. */
export function retrySettings(given: Partial<RetrySettings> = {}): RetrySettings {
  const { attemptsMax = 3, delayMsMin = 200, delayMsMax = 5000, retryAfterMsMax = 10_000 } = given;
  assert(Number.isInteger(attemptsMax) && attemptsMax >= 1, 'attemptsMax is a whole number from 1');
  return { attemptsMax, delayMsMin, delayMsMax, retryAfterMsMax };
}

export type RequestKind =
  'query' | 'wakeup' | 'message' | 'call-credentials' | 'call-end' | 'provisioning' | 'made-secret';

/** The end of one attempt; an error: nobody answered, or a gateway did. */
export type Attempt = ApiResult<unknown, FailureCode> | ReveilleUnreachableError | ReveilleProtocolError;

interface RetryRule {
  /** Though it may have arrived. */
  readonly repeatsUnanswered: boolean;
  /** Answers after which the same may succeed. */
  readonly codes: readonly FailureCode[];
  /** The same, where the server says when to come again. */
  readonly codesWithTime?: readonly FailureCode[];
}

const rules: Record<RequestKind, RetryRule> = {
  query: { repeatsUnanswered: true, codes: [42901, 50301] },
  wakeup: { repeatsUnanswered: true, codes: [42901, 50301, 50402] },
  // 42901 without a time says that the device has as many calls as it may: asking again does not end one.
  'call-credentials': { repeatsUnanswered: true, codes: [50301], codesWithTime: [42901] },
  // A call ends once, and who asks again is told how it did.
  'call-end': { repeatsUnanswered: true, codes: [42901, 50301] },
  // An addition says what is to be there, so does a change that makes no secret; another removal finds nothing to do.
  provisioning: { repeatsUnanswered: true, codes: [42901, 50301, 50402] },
  message: { repeatsUnanswered: false, codes: [] },
  // A secret that was made and not heard of is lost; a second one would hide that.
  'made-secret': { repeatsUnanswered: false, codes: [42901, 50301] },
};

/** Milliseconds before the next attempt after this one, the `attempts`th (from 1); null: it was the last. `random`: from 0 to 1. */
export function retryDelayMs(
  { attemptsMax, delayMsMin, delayMsMax, retryAfterMsMax }: RetrySettings,
  kind: RequestKind,
  attempts: number,
  attempt: Attempt,
  random: number,
): number | null {
  if (attempts >= attemptsMax || !mayRepeat(rules[kind], attempt)) return null;
  const waitMs = 'retryAfterS' in attempt ? (attempt.retryAfterS ?? 0) * 1000 : 0;
  return waitMs > retryAfterMsMax ? null : waitMs + backoffMs(attempts, delayMsMin, delayMsMax, random);
}

/** After this many failures (from 1) in a row: doubles up to a bound; by chance up to half shorter. */
export function backoffMs(failures: number, minMs: number, maxMs: number, random: number): number {
  const wholeMs = Math.min(maxMs, minMs * 2 ** Math.min(failures - 1, 30));
  return wholeMs * (1 - random / 2);
}

function mayRepeat({ repeatsUnanswered, codes, codesWithTime = [] }: RetryRule, attempt: Attempt): boolean {
  if (attempt instanceof Error)
    return repeatsUnanswered || ('mayHaveArrived' in attempt && !attempt.mayHaveArrived);
  if (attempt.ok) return false;
  return (
    codes.includes(attempt.code) || (attempt.retryAfterS !== null && codesWithTime.includes(attempt.code))
  );
}

export interface ReveilleClientOptions {
  /** Scheme, host and port of the API, like `https://reveille.example`. */
  readonly origin: string;
  readonly credential: SigningCredential;
  /** Of Node's TLS connections, for an origin with `https:`: `ca` for an API whose certificate no public authority signed. */
  readonly tls?: ConnectionOptions | undefined;
  /** How long one attempt may take, beside what it asks the server to wait. Default 10 000. */
  readonly timeoutMs?: number | undefined;
  /** Connections at once, and as many again for calls that wait. Default 50. */
  readonly socketsMax?: number | undefined;
  /** What is not given is as usual; `{ attemptsMax: 1 }` sends nothing again. */
  readonly retry?: Partial<RetrySettings> | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
  /** For tests: draws from 0 to 1. */
  readonly random?: (() => number) | undefined;
  /** For tests: in place of HTTP. */
  readonly transport?: Transport | undefined;
}

export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. What has been sent may be carried out all the same. */
  readonly signal?: AbortSignal | undefined;
  /** In place of the client's. */
  readonly timeoutMs?: number | undefined;
}

export interface EndCallOptions extends CallOptions {
  /** What the device, the bridge and the events are told; `cancelled` when left out. */
  readonly reason?: OrderedEndReason | undefined;
}

export interface WakeOptions extends CallOptions {
  /** Two bytes for the device, like `0x12ab`; the fixed packet when left out. */
  readonly customData?: string | undefined;
  /** 1-128 printable ASCII characters, by which its outcome is asked for; made when left out. Each call is a wakeup of its own. */
  readonly requestId?: string | undefined;
}

export interface MessageOptions extends CallOptions {
  /** Wakes the device if it sleeps, and waits for it. Needs `wakeup:write`, too. */
  readonly wake?: boolean | undefined;
  /** 0-30, with `wake`: how long it may take to sign in. Default 20. */
  readonly waitS?: number | undefined;
}

export interface DevicesOptions extends CallOptions {
  /** Of this product only; left out, of all of the application's. */
  readonly productId?: string | undefined;
  /** Only ids that begin with it. */
  readonly prefix?: string | undefined;
  /** Only those that are online, or are not. */
  readonly online?: boolean | undefined;
  /** The `next` of an earlier page; from the first when left out. */
  readonly after?: string | undefined;
  /** 1-500, of one page. Default 100. */
  readonly limit?: number | undefined;
}

export interface WaitOptions extends CallOptions {
  /** 0-30: how long the server may wait for something to answer. Default 0. */
  readonly waitS?: number | undefined;
}

export interface OutcomeOptions extends WaitOptions {
  /** Only a wakeup of this device: several may bear one request id, and the latest is told. */
  readonly deviceId?: string | undefined;
}

export interface EventsOptions extends WaitOptions {
  /** The `next` of an earlier answer, or `latest`; the oldest when left out. */
  readonly after?: string | undefined;
  /** 1-1000. Default 100. */
  readonly limit?: number | undefined;
}

export interface FollowOptions extends Omit<EventsOptions, 'timeoutMs'> {
  /** Told of what went wrong, each time before it is tried again. */
  readonly onTrouble?: ((error: Error) => void) | undefined;
}
