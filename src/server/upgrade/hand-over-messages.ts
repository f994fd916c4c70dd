/**
 * The messages between a server and its successor: over the channels that Node gives to children, in JSON.
 * Two releases meet here: a change of what a message means is another `handOverVersion`, and a successor of another one
 * is refused. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import type { AnsweredBefore } from '../../core/messages/answer-memory.ts';
import type { MovedSession } from '../../core/ports/device-sessions.ts';
import type { RelayedAnswer } from '../../gateways/api/api-request.ts';
import type { RelayedRequest } from '../../gateways/api/request-relay.ts';
import type { SleepState } from '../../edge/sleeping-connection.ts';
import type { ListenAddress } from '../../lib/connections/listen-address.ts';
import type { ListenerName } from '../config/settings-schema.ts';

export const handOverVersion = 1;

/** A sleep session without its socket. */
export interface SessionRow {
  readonly moved: MovedSession;
  readonly state: SleepState;
}

/** An answer and the memory that it is in. Between processes it is JSON. */
export interface KeptAnswer extends AnsweredBefore<unknown> {
  readonly memory: string;
}

/** What the successor says of itself before anything is handed over to it. */
export interface SuccessorFacts {
  readonly pid: number;
  readonly handOver: number;
  readonly version: string;
  readonly storeFormat: number;
  /** Absolute. */
  readonly dataDirectory: string;
}

/** To the successor. A socket goes beside its message. */
export type SuccessorOrder =
  /** That of the sleep port. */
  | { readonly kind: 'listening-socket' }
  /** Of a session, which is still served where it was. */
  | { readonly kind: 'session-socket'; readonly sessionId: string }
  /** They have ended where they were served: their sockets are to be closed. */
  | { readonly kind: 'sessions-over'; readonly sessionIds: readonly string[] }
  | { readonly kind: 'answers'; readonly answers: readonly KeptAnswer[] }
  /** Every session that is handed over, in several messages; a socket of any other is to be closed. */
  | { readonly kind: 'sessions'; readonly sessions: readonly SessionRow[] }
  /** Behind all of them: the store is closed. `listeners`: with the ports that are listened on. */
  | {
      readonly kind: 'take-over';
      readonly predecessor: number;
      readonly secretMarkSeed: number;
      readonly listeners: Readonly<Record<ListenerName, ListenAddress>>;
    }
  /** A sleep connection that was accepted meanwhile. */
  | { readonly kind: 'connection' }
  | { readonly kind: 'request'; readonly id: number; readonly request: RelayedRequest };

/** From the successor. */
export type SuccessorReport =
  | ({ readonly kind: 'loaded' } & SuccessorFacts)
  /** It cannot start, for a reason that is a sentence for the operator. It ends. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** It serves: `sessions` of those it was given. */
  | { readonly kind: 'ready'; readonly sessions: number }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: RelayedAnswer | null };
