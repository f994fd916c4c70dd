/**
 * Viewers of calls, a few per call, and the secrets that admit them: single-use tickets, and keys by which an open page queries its
 * call, each for one session and a limited time. Viewers change nothing in a call. Source: calls-and-media.md, Legs.
 */
import { randomBytes } from 'node:crypto';
import type { CallFollower } from './call-followers.ts';
import type { CallChange, CallSession, CallEndReason } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import {
  viewersPerSessionMax,
  viewerTicketMsMax,
  viewerTicketsMax,
  watchKeyMsMax,
  watchKeysMax,
} from '../../model/limits.ts';
import type { OpenViewer, CallLeg } from '../ports/leg-service.ts';
import type { Clock } from '../../lib/clock.ts';

interface KnownTicket {
  readonly sessionId: SessionId;
  /** Monotonic. */
  readonly deadlineMs: number;
  /** The holder's next ticket replaces this one; null: no holder. */
  readonly holder: string | null;
}

export interface IssuedTicket {
  /** 43 characters of base64url. */
  readonly ticket: string;
  /** Wall milliseconds. */
  readonly expiresAtMs: number;
}

/** Size of a ticket or key: 43 characters of base64url. */
const secretBytes = 32;

/**
 * Tickets are issued on the ops listener and redeemed at the media listener; tickets that open a page are a separate set, redeemed
 * at the ops listener. At `max` none is issued. A holder has one ticket at a time, and may request another any number of times.
 */
export class ViewerTickets {
  readonly #clock: Clock;
  readonly #max: number;
  /** In order of issue, and so of deadline. */
  readonly #known = new Map<string, KnownTicket>();
  readonly #held = new Map<string, string>();

  constructor(clock: Clock, max = viewerTicketsMax) {
    this.#clock = clock;
    this.#max = max;
  }

  /**
   * Null: too many tickets. The caller has checked the session. `holder`: the requester, whose previous ticket is invalid from now
   * on.
   */
  issue(sessionId: SessionId, holder: string | null = null): IssuedTicket | null {
    this.#sweep();
    const former = holder === null ? undefined : this.#held.get(holder);
    if (former !== undefined) this.#forget(former);
    if (this.#known.size >= this.#max) return null;
    const ticket = randomBytes(secretBytes).toString('base64url');
    this.#known.set(ticket, { sessionId, deadlineMs: this.#clock.monotonicMs() + viewerTicketMsMax, holder });
    if (holder !== null) this.#held.set(holder, ticket);
    return { ticket, expiresAtMs: this.#clock.wallMs() + viewerTicketMsMax };
  }

  /** Returns the session of the ticket and invalidates it. Null: unknown, used or expired. */
  redeem(ticket: string): SessionId | null {
    this.#sweep();
    const sessionId = this.#known.get(ticket)?.sessionId ?? null;
    this.#forget(ticket);
    return sessionId;
  }

  #forget(ticket: string): void {
    const holder = this.#known.get(ticket)?.holder ?? null;
    this.#known.delete(ticket);
    if (holder !== null) this.#held.delete(holder);
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [ticket, { deadlineMs }] of this.#known) {
      if (nowMs < deadlineMs) return;
      this.#forget(ticket);
    }
  }
}

export interface WatchedCall {
  readonly key: string;
  readonly sessionId: SessionId;
  readonly endReason: CallEndReason | null;
}

interface KnownKey extends WatchedCall {
  endReason: CallEndReason | null;
  /** Monotonic. */
  readonly deadlineMs: number;
}

/** A key outlives its call, so that a page can learn of the end. At `max` the oldest key is dropped. */
export class WatchKeys implements CallFollower {
  readonly #clock: Clock;
  readonly #max: number;
  /** In order of issue, and so of deadline. */
  readonly #known = new Map<string, KnownKey>();

  constructor(clock: Clock, max = watchKeysMax) {
    this.#clock = clock;
    this.#max = max;
  }

  issue(sessionId: SessionId): string {
    this.#sweep();
    const [oldest] = this.#known.keys();
    if (this.#known.size >= this.#max && oldest !== undefined) this.#known.delete(oldest);
    const key = randomBytes(secretBytes).toString('base64url');
    const deadlineMs = this.#clock.monotonicMs() + watchKeyMsMax;
    this.#known.set(key, { key, sessionId, endReason: null, deadlineMs });
    return key;
  }

  /** Null: unknown or expired. */
  find(key: string): WatchedCall | null {
    this.#sweep();
    return this.#known.get(key) ?? null;
  }

  changed(_session: CallSession, { sessionId, reason }: CallChange): void {
    if (reason === null) return;
    for (const known of this.#known.values()) if (known.sessionId === sessionId) known.endReason = reason;
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { deadlineMs }] of this.#known) {
      if (nowMs < deadlineMs) return;
      this.#known.delete(key);
    }
  }
}

export class Viewers implements CallFollower {
  readonly #bySession = new Map<SessionId, Set<CallLeg>>();

  /** Scans all watched calls: for metrics. */
  get count(): number {
    let count = 0;
    for (const legs of this.#bySession.values()) count += legs.size;
    return count;
  }

  hasRoom(sessionId: SessionId): boolean {
    return (this.#bySession.get(sessionId)?.size ?? 0) < viewersPerSessionMax;
  }

  /** Null: the session has too many viewers. */
  open(sessionId: SessionId, leg: CallLeg): OpenViewer | null {
    if (!this.hasRoom(sessionId)) return null;
    const legs = this.#bySession.get(sessionId) ?? new Set();
    this.#bySession.set(sessionId, legs.add(leg));
    return { disconnected: () => this.#remove(sessionId, leg) };
  }

  changed(_session: CallSession, { sessionId, state, reason }: CallChange): void {
    for (const leg of this.#bySession.get(sessionId) ?? []) {
      leg.notify({ kind: 'state', sessionId, state, reason });
      if (state === 'ended') this.#close(sessionId, leg, 'ended');
    }
  }

  drain(): void {
    for (const [sessionId, legs] of this.#bySession)
      for (const leg of legs) this.#close(sessionId, leg, 'drain');
  }

  #remove(sessionId: SessionId, leg: CallLeg): void {
    const legs = this.#bySession.get(sessionId);
    legs?.delete(leg);
    if (legs?.size === 0) this.#bySession.delete(sessionId);
  }

  #close(sessionId: SessionId, leg: CallLeg, reason: 'ended' | 'drain'): void {
    this.#remove(sessionId, leg);
    leg.close(reason);
  }
}
