/**
 * Everything exchanged between the core and a front: messages of a port, and counters in shared memory. Both ends are threads of
 * the same release, so nothing is validated. Source: scale-out.md, API fronts.
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

export interface FrontStart {
  readonly listen: ListenAddress;
  readonly tls: TlsFiles | null;
  readonly perAddressMax: number;
  readonly verification: AuthenticatorSettings;
  readonly rules: ParseRules;
  readonly counters: SharedArrayBuffer;
}

/** Indexes of the counters, which the front writes, except `connectionsMax`; `sockets` is one of `frontSockets`. */
export const frontCounters = {
  progress: 0,
  connections: 1,
  refused: 2,
  evicted: 3,
  connectionsMax: 4,
  sockets: 5,
  waitingCalls: 6,
  /** Calls refused because of a full queue. */
  refusedCalls: 7,
} as const;
export const frontCounterWords = 8;

/** `closed`: it opens no more. */
export const frontSockets = { unopened: 0, open: 1, closed: 2 } as const;

export type ToFront =
  | { readonly kind: 'serve'; readonly credentials: readonly Credential[]; readonly isDraining: boolean }
  /** Replaces the previous credentials if `isWhole`; `ask` is answered with `done`. */
  | {
      readonly kind: 'credentials';
      readonly ask: number;
      readonly isWhole: boolean;
      readonly set: readonly Credential[];
      readonly removed: readonly AccessKeyId[];
    }
  /** `taken`: batches of orders that the core has completed since the last message. */
  | { readonly kind: 'replies'; readonly taken: number; readonly rows: readonly ReplyRow[] }
  | FrontOrder;

/** Answered with `done`, when the counters are up to date. Between `drain` and `stay` each answer closes its connection. */
export interface FrontOrder {
  readonly kind: 'listen' | 'drain' | 'stay' | 'stop-listening' | 'idle' | 'reload-tls' | 'close';
  readonly ask: number;
}

export type FromFront =
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'done'; readonly ask: number; readonly error: string | null }
  | { readonly kind: 'orders'; readonly rows: readonly OrderRow[] }
  | LogLine;

export type SendToCore = (message: FromFront) => void;

export type OrderRow = CallRow | GoneRow | RefusedRow;

/** An admitted call. `address`: of the peer, if the route records it. */
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

export type GoneRow = readonly [kind: 1, id: number];

/** An answer without a handler. `route` -1: no route matches the path; `times`: the number of equal answers. */
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

/** The buffers of a reply's data are transferred to the front. */
export type ReplyRow = readonly [id: number, reply: Reply];
