/** What a client is told when it is made, and with each call. */
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { SigningCredential } from '../protocol/tgv1/sign-request.ts';
import type { RetrySettings } from './retry-policy.ts';
import type { Transport } from './transport.ts';

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

export interface WakeOptions extends CallOptions {
  /** Two bytes for the device, like `0x12ab`; the fixed packet when left out. */
  readonly customData?: string | undefined;
  /** 1-128 printable ASCII characters: a repeat under the same id wakes at most once. Made when left out. */
  readonly requestId?: string | undefined;
}

export interface WaitOptions extends CallOptions {
  /** 0-30: how long the server may wait for something to answer. Default 0. */
  readonly waitS?: number | undefined;
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
