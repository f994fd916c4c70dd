/**
 * All that crosses between the core and a front: messages of a port, and counters in shared memory. Both are threads of one
 * release, so nothing is checked. Source: scale-out.md, API fronts.
 */
import type { ListenAddress } from '../../lib/connections/listen-address.ts';
import type { TlsFiles } from '../../lib/connections/tls-files.ts';
import type { LogLine } from '../../lib/link/link-log.ts';
import type { Result } from '../../lib/result.ts';
import type { AccessKeyId, ApplicationId, RequestId } from '../../model/ids.ts';
import type { Credential } from '../../model/registry.ts';
import type { AuthFailureReason } from '../../protocol/tgv1/auth-failure.ts';
import type { AuthenticatorSettings } from '../api/authenticator.ts';
import type { ParseRules, Reply, RequestIdentity } from '../api/route.ts';

/** The data that a front is started with. */
export interface FrontStart {
  readonly listen: ListenAddress;
  readonly tls: TlsFiles | null;
  readonly perAddressMax: number;
  readonly verification: AuthenticatorSettings;
  readonly rules: ParseRules;
  readonly counters: SharedArrayBuffer;
}

/** Words of the counters: of the front, but `connectionsMax`; `sockets` is one of `frontSockets`. */
export const frontCounters = {
  progress: 0,
  connections: 1,
  refused: 2,
  evicted: 3,
  connectionsMax: 4,
  sockets: 5,
  /** Calls that the core has not taken. */
  waitingCalls: 6,
  /** Calls that were refused because too many wait. */
  refusedCalls: 7,
} as const;
export const frontCounterWords = 8;

/** `closed`: it opens none any more. */
export const frontSockets = { unopened: 0, open: 1, closed: 2 } as const;

export type ToFront =
  /** Requests are handled from now on. */
  | { readonly kind: 'serve'; readonly credentials: readonly Credential[]; readonly isDraining: boolean }
  /** In place of those before, if `isWhole`; `ask` is answered with `done`. */
  | {
      readonly kind: 'credentials';
      readonly ask: number;
      readonly isWhole: boolean;
      readonly set: readonly Credential[];
      readonly removed: readonly AccessKeyId[];
    }
  /** `taken`: batches of orders that the core has gone through since the last message. */
  | { readonly kind: 'replies'; readonly taken: number; readonly rows: readonly ReplyRow[] }
  | FrontOrder;

/** Answered with `done`, when the counters are of that moment. From `drain` until `stay` each answer ends its connection. */
export interface FrontOrder {
  readonly kind: 'listen' | 'drain' | 'stay' | 'stop-listening' | 'idle' | 'reload-tls' | 'close';
  readonly ask: number;
}

export type FromFront =
  /** It has failed, and ends. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'done'; readonly ask: number; readonly error: string | null }
  | { readonly kind: 'orders'; readonly rows: readonly OrderRow[] }
  | LogLine;

export type SendToCore = (message: FromFront) => void;

export type OrderRow = CallRow | GoneRow | RefusedRow;

/** An admitted call. `address`: of its peer, where the route notes it. */
export type CallRow = readonly [
  kind: 0,
  id: number,
  route: number,
  accessKeyId: AccessKeyId,
  requestId: RequestId,
  origin: RequestIdentity['origin'],
  signature: string,
  signatureExpiresMs: number,
  startedMs: number,
  address: string | null,
  params: Result<unknown, string>,
];

/** The caller of a call that is not answered has hung up. */
export type GoneRow = readonly [kind: 1, id: number];

/** An answer that needed no handler. `route` -1: no route has its path; `times`: it and so many more alike, in all. */
export type RefusedRow = [
  kind: 2,
  route: number,
  status: number,
  reply: Reply,
  requestId: RequestId,
  origin: RequestIdentity['origin'],
  startedMs: number,
  provenAppId: ApplicationId | null,
  claimedAppId: string,
  authFailure: AuthFailureReason | null,
  times: number,
];

/** Bytes of a reply's data move to the front, with their buffer. */
export type ReplyRow = readonly [id: number, reply: Reply];
