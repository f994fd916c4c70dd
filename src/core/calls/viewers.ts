/**
 * The people who watch calls, a few a call: the secrets that let them in, tickets that are good once and keys by which an
 * open page asks how its call goes, each for one session and a limited time; and the viewers themselves. They change
 * nothing of a call. Source: calls-and-media.md, Legs.
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
  /** Whose next ticket takes its place; null: nobody's. */
  readonly holder: string | null;
}

export interface IssuedTicket {
  /** 43 characters of base64url. */
  readonly ticket: string;
  /** Wall milliseconds. */
  readonly expiresAtMs: number;
}

/** Of a ticket or a key: 43 characters of base64url. */
const secretBytes = 32;

/**
 * Tickets are handed out on the ops listener and taken at the media listener; those that open a page are a set of their
 * own, taken where they are handed out. When `max` are known, none is given. A holder may ask again and again, and holds
 * one at a time.
 */
export class ViewerTickets {
  readonly #clock: Clock;
  readonly #max: number;
  /** In the order of their issuance, which is that of their deadlines. */
  readonly #known = new Map<string, KnownTicket>();
  /** The ticket of each holder that has one. */
  readonly #held = new Map<string, string>();

  constructor(clock: Clock, max = viewerTicketsMax) {
    this.#clock = clock;
    this.#max = max;
  }

  /**
   * Null: as many are known as may be. The caller knows that there is such a session. `holder`: who asks; the holder's
   * last ticket is good for nothing from now on, used or not.
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

  /** The session that the ticket lets watch; from now on it is good for nothing. Null: unknown, used or too old. */
  take(ticket: string): SessionId | null {
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
  /** Null: it lives. */
  readonly endReason: CallEndReason | null;
}

interface KnownKey extends WatchedCall {
  endReason: CallEndReason | null;
  /** Monotonic. */
  readonly deadlineMs: number;
}

/** A page is told of the end of its call, so a key outlives it. When `max` are known, the oldest is forgotten. */
export class WatchKeys implements CallFollower {
  readonly #clock: Clock;
  readonly #max: number;
  /** In the order of their issuance, which is that of their deadlines. */
  readonly #known = new Map<string, KnownKey>();

  constructor(clock: Clock, max = watchKeysMax) {
    this.#clock = clock;
    this.#max = max;
  }

  /** `sessionId`: of a live session. */
  issue(sessionId: SessionId): string {
    this.#sweep();
    const [oldest] = this.#known.keys();
    if (this.#known.size >= this.#max && oldest !== undefined) this.#known.delete(oldest);
    const key = randomBytes(secretBytes).toString('base64url');
    const deadlineMs = this.#clock.monotonicMs() + watchKeyMsMax;
    this.#known.set(key, { key, sessionId, endReason: null, deadlineMs });
    return key;
  }

  /** Null: unknown, or too old. */
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

/** They are notified of the states of their call, and closed at its end. */
export class Viewers implements CallFollower {
  readonly #bySession = new Map<SessionId, Set<CallLeg>>();

  /** Looks at every call that is watched: for the metrics. */
  get count(): number {
    let count = 0;
    for (const legs of this.#bySession.values()) count += legs.size;
    return count;
  }

  hasRoom(sessionId: SessionId): boolean {
    return (this.#bySession.get(sessionId)?.size ?? 0) < viewersPerSessionMax;
  }

  /** Null: as many watch the session as may. */
  open(sessionId: SessionId, leg: CallLeg): OpenViewer | null {
    if (!this.hasRoom(sessionId)) return null;
    const legs = this.#bySession.get(sessionId) ?? new Set();
    this.#bySession.set(sessionId, legs.add(leg));
    return { gone: () => this.#remove(sessionId, leg) };
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
