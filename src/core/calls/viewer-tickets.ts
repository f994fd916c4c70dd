/**
 * Tickets by which people watch a call: each is good once, for one session, for a minute. Handed out on the ops
 * listener, taken at the media listener; those that open a page are a set of their own, taken where they are handed out.
 * Bounded: full means that none is given. Who may ask again and again is a holder, and holds one at a time. Source: calls-and-media.md, Legs.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { SessionId } from '../../model/ids.ts';
import { viewerTicketMsMax, viewerTicketsMax } from '../../model/limits.ts';

interface KnownTicket {
  readonly sessionId: SessionId;
  /** Monotonic. */
  readonly deadlineMs: number;
  /** Null: nobody whose next one takes its place. */
  readonly holder: string | null;
}

export interface IssuedTicket {
  /** 43 characters of base64url. */
  readonly ticket: string;
  /** Wall milliseconds. */
  readonly expiresAtMs: number;
}

const ticketBytes = 32;

export class ViewerTickets {
  readonly #clock: Clock;
  readonly #max: number;
  /** In the order of their making, which is that of their ends. */
  readonly #known = new Map<string, KnownTicket>();
  /** The ticket of each holder that has one. */
  readonly #held = new Map<string, string>();

  constructor(clock: Clock, max = viewerTicketsMax) {
    this.#clock = clock;
    this.#max = max;
  }

  /**
   * Null: as many as may are about. Whether there is such a session is for who asks to know. `holder`: who asks, whose
   * last ticket is good for nothing from now on, used or not.
   */
  issue(sessionId: SessionId, holder: string | null = null): IssuedTicket | null {
    this.#sweep();
    const former = holder === null ? undefined : this.#held.get(holder);
    if (former !== undefined) this.#forget(former);
    if (this.#known.size >= this.#max) return null;
    const ticket = randomBytes(ticketBytes).toString('base64url');
    this.#known.set(ticket, { sessionId, deadlineMs: this.#clock.monotonicMs() + viewerTicketMsMax, holder });
    if (holder !== null) this.#held.set(holder, ticket);
    return { ticket, expiresAtMs: this.#clock.wallMs() + viewerTicketMsMax };
  }

  /** The session it lets watch; from now on it is good for nothing. Null: it never was, is used up or too old. */
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
