/**
 * Options of the client and of each call, and the retry policy. A request is retried only if a repeat has no second effect:
 * a query changes nothing, a wakeup is identified by its signature, credentials belong to one session. A message carries no
 * id of its caller, so it is retried only if the first attempt was not sent.
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
  /** Attempts per call, including the first; 1 disables retries. Default: 3. */
  readonly attemptsMax: number;
  /** Initial backoff. Doubles with each attempt; jitter shortens it by up to half. Default: 200. */
  readonly delayMsMin: number;
  /** Maximum backoff, unless the server sends `Retry-After`. Default: 5000. */
  readonly delayMsMax: number;
  /** A response with a longer `Retry-After` is not retried but returned. Default: 10 000. */
  readonly retryAfterMsMax: number;
}

export function retrySettings(given: Partial<RetrySettings> = {}): RetrySettings {
  const { attemptsMax = 3, delayMsMin = 200, delayMsMax = 5000, retryAfterMsMax = 10_000 } = given;
  assert(Number.isInteger(attemptsMax) && attemptsMax >= 1, 'attemptsMax must be an integer of at least 1');
  return { attemptsMax, delayMsMin, delayMsMax, retryAfterMsMax };
}

export type RequestKind =
  'query' | 'wakeup' | 'message' | 'call-credentials' | 'call-end' | 'provisioning' | 'made-secret';

/** The end of one attempt; an error: no response, or one of a proxy. */
export type Attempt = ApiResult<unknown, FailureCode> | ReveilleUnreachableError | ReveilleProtocolError;

interface RetryRule {
  /** Retry without a response, although the server may have processed the request. */
  readonly repeatsUnanswered: boolean;
  /** Codes of temporary failures. */
  readonly codes: readonly FailureCode[];
  /** Codes that are temporary only with a `Retry-After`. */
  readonly codesWithTime?: readonly FailureCode[];
}

const rules: Record<RequestKind, RetryRule> = {
  query: { repeatsUnanswered: true, codes: [42901, 50301] },
  wakeup: { repeatsUnanswered: true, codes: [42901, 50301, 50402] },
  // 42901 without Retry-After: the device is at its limit of calls, and a retry does not end one.
  'call-credentials': { repeatsUnanswered: true, codes: [50301], codesWithTime: [42901] },
  // A call ends once; a repeat returns how it ended.
  'call-end': { repeatsUnanswered: true, codes: [42901, 50301] },
  // Additions, removals, and changes that generate no secret are idempotent.
  provisioning: { repeatsUnanswered: true, codes: [42901, 50301, 50402] },
  message: { repeatsUnanswered: false, codes: [] },
  // A generated secret is lost with its response; a retry would generate another and hide that.
  'made-secret': { repeatsUnanswered: false, codes: [42901, 50301] },
};

/** Milliseconds before the next attempt after attempt number `attempts` (from 1); null: do not retry. `random`: from 0 to 1. */
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

/** Exponential backoff after this many consecutive failures (from 1); jitter shortens it by up to half. */
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
  /** TLS options of Node, for an `https:` origin: `ca` for a certificate that no public authority signed. */
  readonly tls?: ConnectionOptions | undefined;
  /** Maximum time of one attempt, in addition to the wait requested from the server. Default: 10 000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of connections, and as many again for long polls. Default: 50. */
  readonly socketsMax?: number | undefined;
  /** Overrides of the defaults; `{ attemptsMax: 1 }` disables retries. */
  readonly retry?: Partial<RetrySettings> | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
  /** For tests: returns numbers from 0 to 1. */
  readonly random?: (() => number) | undefined;
  /** For tests: replaces HTTP. */
  readonly transport?: Transport | undefined;
}

export interface CallOptions {
  /** Cancels the call, which rejects with the signal's reason. The server may still process a request that was sent. */
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's timeout. */
  readonly timeoutMs?: number | undefined;
}

export interface EndCallOptions extends CallOptions {
  /** The reason that the device, the bridge and the events receive. Default: `cancelled`. */
  readonly reason?: OrderedEndReason | undefined;
}

export interface WakeOptions extends CallOptions {
  /** Two bytes for the device, like `0x12ab`. Default: the fixed wake packet. */
  readonly customData?: string | undefined;
  /** 1-128 printable ASCII characters; identifies the outcome. Default: generated. Each call is a wakeup of its own. */
  readonly requestId?: string | undefined;
}

export interface MessageOptions extends CallOptions {
  /** Wakes a sleeping device first, and waits for its login. Also requires `wakeup:write`. */
  readonly wake?: boolean | undefined;
  /** With `wake`: seconds to wait for the login, 0-30. Default: 20. */
  readonly waitS?: number | undefined;
}

export interface DevicesOptions extends CallOptions {
  /** Only devices of this product. Default: all of the application's. */
  readonly productId?: string | undefined;
  /** Only ids with this prefix. */
  readonly prefix?: string | undefined;
  /** Only devices that are online, or only those that are not. */
  readonly online?: boolean | undefined;
  /** The `next` of an earlier page. Default: the first page. */
  readonly after?: string | undefined;
  /** Devices per page, 1-500. Default: 100. */
  readonly limit?: number | undefined;
}

export interface WaitOptions extends CallOptions {
  /** Long poll: seconds that the server may wait before it answers, 0-30. Default: 0. */
  readonly waitS?: number | undefined;
}

export interface OutcomeOptions extends WaitOptions {
  /** Only wakeups of this device: if several have the request id, the latest is returned. */
  readonly deviceId?: string | undefined;
}

export interface EventsOptions extends WaitOptions {
  /** The `next` of an earlier page, or `latest`. Default: the oldest event. */
  readonly after?: string | undefined;
  /** Events per page, 1-1000. Default: 100. */
  readonly limit?: number | undefined;
}

export interface FollowOptions extends Omit<EventsOptions, 'timeoutMs'> {
  /** Called with the error before each retry. */
  readonly onTrouble?: ((error: Error) => void) | undefined;
}
