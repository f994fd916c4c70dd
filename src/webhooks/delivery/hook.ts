/**
 * One application's webhook: which of its events may be tried now, and what becomes of them by the answer. It sends
 * nothing itself and has no timer: the engine asks `take`, and comes back with `settle`. Source: events.md, Webhooks.
 */
import { assert } from '../../lib/assert.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { Webhook } from '../../model/registry.ts';
import type { HookRecord, ParkedEvent } from '../../core/ports/delivery-store.ts';
import type { WebhookAnswer, WebhookRegistry } from '../../core/ports/webhook-sender.ts';
import { Audience, ReadAhead, type LogReader, type LogTail } from './log-tail.ts';
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
    take: (ticket) => this.#first.add(ticket),
    lost: (events) => this.#logger.lost(events),
  };
  #webhook: Webhook;
  #audience: Audience;
  #inFlight = 0;
  #retriesInFlight = 0;

  constructor(id: string, webhook: Webhook, record: HookRecord, before: KeptBefore, deps: HookDeps) {
    const { limits, schedule, registry, writeBuffer, tail } = deps;
    this.id = id;
    this.number = record.number;
    this.#deps = deps;
    this.#webhook = webhook;
    this.#audience = new Audience(webhook, registry);
    this.#standing = standingOf(record);
    this.#logger = new HookLogger(webhook, deps);
    const settledBefore = [...before.failed.map(({ event }) => event.sequence), ...before.parkedAhead];
    this.#circuit = new Circuit(limits.circuitFailures, schedule);
    this.#ahead = new ReadAhead(record.cursor, settledBefore, tail, limits);
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

  /** Events that wait for a retry, or behind one. */
  get failed(): number {
    return this.#kept.failed;
  }

  /** How many parked ones could be replayed now. */
  get replayRoom(): number {
    return Math.max(0, this.#deps.limits.failedPerHookMax - this.#kept.failed - this.#ahead.size);
  }

  /** As it would be committed now. */
  record(): HookRecord {
    const { cursor } = this.#ahead;
    return { number: this.number, cursor, parked: this.#kept.parked, ...this.#standing };
  }

  /** The registry's entry has changed. */
  update(webhook: Webhook): void {
    const { switchedOff } = this.#standing;
    if (switchedOff !== null && switchedOff.secretSha256 !== sha256(webhook.secret)) this.enable();
    this.#webhook = webhook;
    this.#audience = new Audience(webhook, this.#deps.registry);
  }

  /** On again, and worth an attempt now. */
  enable(): void {
    this.#standing.switchedOff = null;
    this.#circuit.hasten(this.#deps.clock.monotonicMs());
    this.#deps.writeBuffer.touch(this);
  }

  /** What is unsettled waits among the failed, as if it were never tried: so the cursor passes it, for an orderly stop. */
  putAside(): void {
    for (const ticket of this.#ahead.tickets()) this.#hold(ticket);
  }

  /** Back to where they were before their first attempt, and worth one now. */
  replay(parked: readonly ParkedEvent[]): void {
    for (const { event } of parked) {
      const ticket = ticketOf(event, 0, false);
      this.#kept.unpark(event);
      this.#kept.keep(ticket, event, this.#deps.clock.wallMs());
      this.#first.add(ticket);
    }
    this.#circuit.hasten(this.#deps.clock.monotonicMs());
  }

  /** Reads on in the log where it is worth it. True: more could be read now. Throws when the store cannot be read. */
  fill(): boolean {
    const { writeBuffer, limits } = this.#deps;
    if (this.#ahead.isAtHead || this.isOff || writeBuffer.isFull || !this.#isWorthReading) return false;
    if (this.#ahead.span > limits.spanEventsMax || (this.#ahead.room === 0 && !this.#first.hasReady))
      this.#setAside();
    const hasMore = this.#ahead.read(this.#room(), this.#audience, this.#reader);
    writeBuffer.touch(this, true);
    if (hasMore || this.#ahead.isAtHead || this.#ahead.room > 0 || this.#first.hasReady) return hasMore;
    return this.#setAside();
  }

  /** None of the events behind `from` is of its application. False: it was not that far. */
  pass(from: number): boolean {
    const isPassed = this.#ahead.pass(from);
    if (isPassed) this.#deps.writeBuffer.touch(this, true);
    return isPassed;
  }

  /** The next event that may be tried, with its event in it; null: none now. */
  take(): Ticket | null {
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

  /** Once for each that was taken. */
  settle(ticket: Ticket, answer: WebhookAnswer): void {
    this.#inFlight -= 1;
    if (ticket.attempts > 0) this.#retriesInFlight -= 1;
    if (answer.kind !== 'delivered') return this.#fail(ticket, answer);
    const { clock, writeBuffer } = this.#deps;
    this.#logger.count('delivered');
    this.#standing.lastSuccessAtMs = clock.wallMs();
    if (this.#circuit.succeed()) this.#logger.circuitClosed();
    this.#leave(ticket);
    writeBuffer.touch(this);
  }

  /**
   * Monotonic milliseconds at which there is more to do than there was at `nowMs`; null: nothing waits for time. By
   * the present instead, what falls due between the last `take` and this would wait for neither.
   */
  wakeMs(nowMs: number): number | null {
    if (this.isOff) return null;
    const { isOpen, probeAtMs } = this.#circuit;
    if (isOpen && (probeAtMs === null || probeAtMs > nowMs)) return probeAtMs;
    const dueMs = this.#kept.due.nextDueMs;
    return dueMs !== null && dueMs > nowMs ? dueMs : null;
  }

  /** A window that is half full is worth filling up; one with nothing to try in it must be. */
  get #isWorthReading(): boolean {
    if (this.#circuit.isOpen) return this.#circuit.mayProbe(this.#deps.clock.monotonicMs());
    return this.#ahead.room * 2 >= this.#deps.limits.windowEventsMax || !this.#first.hasReady;
  }

  /** How many events may be taken from the log: one for a probe, where no failed event is due for it. */
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
      this.#leave(ticket);
    }
  }

  /** While there are new events, retries have half of the room: those that hang must not hold up the others. */
  #pick(nowMs: number): Ticket | null {
    const { attemptsPerHookMax } = this.#deps.limits;
    const mayRetry = !this.#first.hasReady || this.#retriesInFlight * 2 < attemptsPerHookMax;
    const retry = mayRetry ? this.#kept.due.take(nowMs) : null;
    return retry ?? this.#first.take();
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
      this.#leave(ticket);
      return this.#logger.parked(event, failure, this.#kept.park(event, failure));
    }
    this.#logger.count(kind);
    ticket.dueMs = clock.monotonicMs() + delayMs;
    this.#ahead.settle(ticket);
    this.#kept.keep(ticket, event, clock.wallMs() + delayMs);
    if (ticket.attempts > 1) this.#first.release(ticket);
  }

  /** It is settled for good. */
  #leave(ticket: Ticket): void {
    this.#ahead.settle(ticket);
    this.#kept.remove(ticket);
    this.#first.release(ticket);
  }

  /**
   * Events that wait behind failed ones of their devices wait among the failed instead, so that one device holds up
   * neither the others nor the cursor. Not while the endpoint itself may be what fails. True: there is more room.
   */
  #setAside(): boolean {
    if (this.#circuit.failures > 0) return false;
    const held = this.#ahead.tickets().filter((ticket) => this.#first.waitsBehindFailure(ticket));
    for (const ticket of held) this.#hold(ticket);
    return held.length > 0;
  }

  #hold(ticket: Ticket): void {
    this.#ahead.settle(ticket);
    this.#kept.keep(ticket, eventOf(ticket), this.#deps.clock.wallMs());
  }
}

function eventOf({ event }: Ticket): LoggedEvent {
  assert(event !== null, 'what is tried has its event');
  return event;
}
