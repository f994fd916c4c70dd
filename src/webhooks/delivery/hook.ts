/**
 * One application's webhook: selects the events to attempt, and retries, parks or completes them by the answer. It does no
 * I/O and has no timer: the engine calls `nextAttempt`, then `complete`. Source: events.md, Webhooks.
 */
import { assert } from '../../lib/assert.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { Webhook } from '../../model/registry.ts';
import type { HookRecord, ParkedEvent } from '../../core/ports/delivery-store.ts';
import type { WebhookAnswer, WebhookRegistry } from '../../core/ports/webhook-sender.ts';
import { EventFilter, ReadAhead, type LogReader, type LogTail } from './log-tail.ts';
import { Circuit, HookLogger, type HookLoggerDeps, sha256, standingOf } from './hook-health.ts';
import {
  FirstAttempts,
  ticketOf,
  type Ticket,
  KeptEvents,
  restoreFailed,
  type KeptBefore,
} from './hook-queues.ts';
import type { Clock } from '../../lib/clock.ts';
import type { WriteBuffer } from './write-buffer.ts';
import type { WebhookLimits, RetrySchedule } from './limits.ts';

export interface HookDeps extends HookLoggerDeps {
  readonly clock: Clock;
  readonly registry: WebhookRegistry;
  readonly tail: LogTail;
  readonly writeBuffer: WriteBuffer;
  readonly limits: WebhookLimits;
  readonly schedule: RetrySchedule;
}

export class Hook {
  readonly id: string;
  readonly number: number;
  readonly #deps: HookDeps;
  readonly #circuit: Circuit;
  readonly #ahead: ReadAhead;
  readonly #first: FirstAttempts;
  readonly #kept: KeptEvents;
  readonly #standing: ReturnType<typeof standingOf>;
  readonly #logger: HookLogger;
  readonly #reader: LogReader = {
    wanted: (ticket) => this.#first.add(ticket),
    lost: (events) => this.#logger.lost(events),
  };
  #webhook: Webhook;
  #filter: EventFilter;
  #inFlight = 0;
  #retriesInFlight = 0;

  constructor(id: string, webhook: Webhook, record: HookRecord, before: KeptBefore, deps: HookDeps) {
    const { limits, schedule, registry, writeBuffer, tail } = deps;
    this.id = id;
    this.number = record.number;
    this.#deps = deps;
    this.#webhook = webhook;
    this.#filter = new EventFilter(webhook, registry);
    this.#standing = standingOf(record);
    this.#logger = new HookLogger(webhook, deps);
    const completedBefore = [...before.failed.map(({ event }) => event.sequence), ...before.parkedAhead];
    this.#circuit = new Circuit(limits.circuitFailures, schedule);
    this.#ahead = new ReadAhead(record.cursor, completedBefore, tail, limits);
    this.#first = new FirstAttempts(limits.windowEventsMax + limits.failedPerHookMax);
    this.#kept = new KeptEvents(this, writeBuffer, record.parked, limits.parkedPerHookMax);
    restoreFailed(before.failed, this.#kept, this.#first, deps);
  }

  get webhook(): Webhook {
    return this.#webhook;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get isOff(): boolean {
    return this.#standing.switchedOff !== null;
  }

  get isCircuitOpen(): boolean {
    return this.#circuit.isOpen;
  }

  /** Events that wait for a retry, or behind an event of their device that does. */
  get failed(): number {
    return this.#kept.failed;
  }

  get replayRoom(): number {
    return Math.max(0, this.#deps.limits.failedPerHookMax - this.#kept.failed - this.#ahead.size);
  }

  /** The current record, as the next commit writes it. */
  record(): HookRecord {
    const { cursor } = this.#ahead;
    return { number: this.number, cursor, parked: this.#kept.parked, ...this.#standing };
  }

  /** Adopts a changed registry entry; a new secret switches the hook on again. */
  update(webhook: Webhook): void {
    const { switchedOff } = this.#standing;
    if (switchedOff !== null && switchedOff.secretSha256 !== sha256(webhook.secret)) this.enable();
    this.#webhook = webhook;
    this.#filter = new EventFilter(webhook, this.#deps.registry);
  }

  enable(): void {
    this.#standing.switchedOff = null;
    this.#circuit.probeNow(this.#deps.clock.monotonicMs());
    this.#deps.writeBuffer.touch(this);
  }

  /** For a stop: stores unfinished events among the failed, as never attempted, so that the cursor may pass them. */
  moveUnfinishedToFailed(): void {
    for (const ticket of this.#ahead.tickets()) this.#moveToFailed(ticket);
  }

  /** Moves parked events back before their first attempt, and allows one at once. */
  replay(parked: readonly ParkedEvent[]): void {
    for (const { event } of parked) {
      const ticket = ticketOf(event, 0, false);
      this.#kept.unpark(event);
      this.#kept.keep(ticket, event, this.#deps.clock.wallMs());
      this.#first.add(ticket);
    }
    this.#circuit.probeNow(this.#deps.clock.monotonicMs());
  }

  /** Reads ahead in the log while there is room. True: call again for more. Throws when the store cannot be read. */
  fill(): boolean {
    const { writeBuffer, limits } = this.#deps;
    if (this.#ahead.isAtHead || this.isOff || writeBuffer.isFull || !this.#isWorthReading) return false;
    if (this.#ahead.span > limits.spanEventsMax || (this.#ahead.room === 0 && !this.#first.hasReady))
      this.#moveBlockedToFailed();
    const hasMore = this.#ahead.read(this.#room(), this.#filter, this.#reader);
    writeBuffer.touch(this, true);
    if (hasMore || this.#ahead.isAtHead || this.#ahead.room > 0 || this.#first.hasReady) return hasMore;
    return this.#moveBlockedToFailed();
  }

  /** Skips the events after `from`, none of which is of its application. False: the hook has not read up to `from`. */
  pass(from: number): boolean {
    const isPassed = this.#ahead.pass(from);
    if (isPassed) this.#deps.writeBuffer.touch(this, true);
    return isPassed;
  }

  /** Reserves the next attempt; its ticket contains the event. Null: none is due. */
  nextAttempt(): Ticket | null {
    if (this.isOff || this.#inFlight >= this.#deps.limits.attemptsPerHookMax) return null;
    const nowMs = this.#deps.clock.monotonicMs();
    const isProbe = this.#circuit.isOpen;
    if (isProbe && !this.#circuit.mayProbe(nowMs)) return null;
    const ticket = this.#next(nowMs);
    if (ticket === null) return null;
    ticket.isProbe = isProbe;
    if (isProbe) this.#circuit.beginProbe();
    if (ticket.attempts > 0) this.#retriesInFlight += 1;
    this.#inFlight += 1;
    return ticket;
  }

  /** Applies the result of an attempt; once per ticket of `nextAttempt`. */
  complete(ticket: Ticket, answer: WebhookAnswer): void {
    this.#inFlight -= 1;
    if (ticket.attempts > 0) this.#retriesInFlight -= 1;
    if (answer.kind !== 'delivered') return this.#fail(ticket, answer);
    const { clock, writeBuffer } = this.#deps;
    this.#logger.count('delivered');
    this.#standing.lastSuccessAtMs = clock.wallMs();
    if (this.#circuit.succeed()) this.#logger.circuitClosed();
    this.#finish(ticket);
    writeBuffer.touch(this);
  }

  /**
   * Monotonic milliseconds of the next event that becomes due after `nowMs`; null: none. `nowMs` is the time of the last
   * `nextAttempt`: with the present time, an event that became due in between would be missed.
   */
  wakeMs(nowMs: number): number | null {
    if (this.isOff) return null;
    const { isOpen, probeAtMs } = this.#circuit;
    if (isOpen && (probeAtMs === null || probeAtMs > nowMs)) return probeAtMs;
    const dueMs = this.#kept.due.nextDueMs;
    return dueMs !== null && dueMs > nowMs ? dueMs : null;
  }

  /** Reads in batches: when the window is at most half full, or has no event to attempt. */
  get #isWorthReading(): boolean {
    if (this.#circuit.isOpen) return this.#circuit.mayProbe(this.#deps.clock.monotonicMs());
    return this.#ahead.room * 2 >= this.#deps.limits.windowEventsMax || !this.#first.hasReady;
  }

  /** Number of events to read; with an open circuit one, for a probe, unless a failed event is due for it. */
  #room(): number {
    const room = Math.min(this.#ahead.room, this.replayRoom);
    if (!this.#circuit.isOpen) return room;
    const dueMs = this.#kept.due.nextDueMs ?? Infinity;
    return this.#first.hasReady || dueMs <= this.#deps.clock.monotonicMs() ? 0 : Math.min(1, room);
  }

  #next(nowMs: number): Ticket | null {
    for (;;) {
      const ticket = this.#pick(nowMs);
      if (ticket === null) return null;
      ticket.event ??= this.#deps.writeBuffer.findEvent(this.number, ticket.sequence);
      if (ticket.event !== null) return ticket;
      this.#logger.missing(ticket.sequence);
      this.#finish(ticket);
    }
  }

  /** Retries get at most half of the slots while there are new events, so that hanging retries do not block them. */
  #pick(nowMs: number): Ticket | null {
    const { attemptsPerHookMax } = this.#deps.limits;
    const mayRetry = !this.#first.hasReady || this.#retriesInFlight * 2 < attemptsPerHookMax;
    const retry = mayRetry ? this.#kept.due.shift(nowMs) : null;
    return retry ?? this.#first.shift();
  }

  #fail(ticket: Ticket, { kind, status, reason }: Exclude<WebhookAnswer, { kind: 'delivered' }>): void {
    const { clock, schedule } = this.#deps;
    const event = eventOf(ticket);
    const failure = { atMs: clock.wallMs(), status, reason };
    this.#standing.lastFailure = failure;
    if (kind === 'gone' && !this.isOff) {
      this.#standing.switchedOff = { atMs: failure.atMs, secretSha256: sha256(this.#webhook.secret) };
      this.#logger.switchedOff(failure);
    }
    if (this.#circuit.fail(clock.monotonicMs(), ticket.isProbe)) this.#logger.circuitOpened(failure);
    ticket.attempts += 1;
    const delayMs = schedule.delayMs(ticket.attempts);
    if (delayMs === null) {
      this.#finish(ticket);
      return this.#logger.parked(event, failure, this.#kept.park(event, failure));
    }
    this.#logger.count(kind);
    ticket.dueMs = clock.monotonicMs() + delayMs;
    this.#ahead.remove(ticket);
    this.#kept.keep(ticket, event, clock.wallMs() + delayMs);
    if (ticket.attempts > 1) this.#first.release(ticket);
  }

  #finish(ticket: Ticket): void {
    this.#ahead.remove(ticket);
    this.#kept.remove(ticket);
    this.#first.release(ticket);
  }

  /**
   * Stores events that wait behind a failed event of their device among the failed, so that one device blocks neither the
   * others nor the cursor. Does nothing while the endpoint itself may be failing. True: there is more room.
   */
  #moveBlockedToFailed(): boolean {
    if (this.#circuit.failures > 0) return false;
    const blocked = this.#ahead.tickets().filter((ticket) => this.#first.waitsBehindFailure(ticket));
    for (const ticket of blocked) this.#moveToFailed(ticket);
    return blocked.length > 0;
  }

  #moveToFailed(ticket: Ticket): void {
    this.#ahead.remove(ticket);
    this.#kept.keep(ticket, eventOf(ticket), this.#deps.clock.wallMs());
  }
}

function eventOf({ event }: Ticket): LoggedEvent {
  assert(event !== null, 'an attempted ticket contains its event');
  return event;
}
