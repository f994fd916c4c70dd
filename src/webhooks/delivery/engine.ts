/**
 * Schedules the deliveries of all webhooks of the node. When the log advances, it reads and sends in the same turn of the
 * event loop. Attempt slots go round robin, and a hook gets another one only while it has fewer than are free, so that
 * endpoints that hang never occupy all slots. Source: events.md, Webhooks.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Clock, Cancel } from '../../lib/clock.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { DeliveryStore } from '../../core/ports/delivery-store.ts';
import type {
  WebhookAnswer,
  WebhookSender,
  LogPages,
  WebhookRegistry,
} from '../../core/ports/webhook-sender.ts';
import { encodeEvent } from '../../protocol/rest/events.ts';
import { findConcerned, LogTail } from './log-tail.ts';
import type { Hook } from './hook.ts';
import { HookRoster } from './hook-roster.ts';
import { WriteBuffer } from './write-buffer.ts';
import { webhookLimits, type WebhookLimits, RetrySchedule } from './limits.ts';
import type { Ticket } from './hook-queues.ts';

export interface WebhookEngineDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly telemetry: Pick<Telemetry, 'webhookDelivery'>;
  readonly registry: WebhookRegistry;
  readonly events: LogPages;
  readonly deliveries: DeliveryStore;
  readonly sender: WebhookSender;
  readonly limits?: WebhookLimits;
  /** From 0 to 1, for jitter. */
  readonly random?: () => number;
}

export class WebhookEngine {
  readonly #deps: WebhookEngineDeps;
  readonly #limits: WebhookLimits;
  readonly #tail: LogTail;
  readonly #writeBuffer: WriteBuffer;
  readonly roster: HookRoster;
  readonly #timers: WakeTimers;
  /** Hooks that may have an event to send, in the order of their turns. */
  readonly #turns = new Set<Hook>();
  readonly #starved = new Set<Hook>();
  /** Hooks that reached their read limit of this turn of the event loop. */
  #reading = new Set<Hook>();
  #inFlight = 0;
  #isStopping = false;
  #isStopped = false;
  #onIdle = (): void => undefined;

  constructor(deps: WebhookEngineDeps) {
    const { clock, events, deliveries, limits = webhookLimits, random = Math.random } = deps;
    this.#deps = deps;
    this.#limits = limits;
    this.#tail = new LogTail(events);
    this.#writeBuffer = new WriteBuffer({ ...deps, limits });
    this.roster = new HookRoster(deliveries, {
      ...deps,
      limits,
      tail: this.#tail,
      writeBuffer: this.#writeBuffer,
      schedule: new RetrySchedule(limits, random),
    });
    this.#timers = new WakeTimers(clock, (hook) => this.poke(hook));
  }

  get head(): number {
    return this.#tail.head;
  }

  /** Resumes from the cursors of the delivery store. Throws when a store cannot be read. */
  start(head: number): void {
    this.#tail.advance(head);
    this.roster.restore();
    this.registryChanged();
  }

  /** Reads and sends events up to `head`, the newest committed sequence. */
  advance(head: number): void {
    const before = this.#tail.head;
    this.#tail.advance(head);
    const concerned = findConcerned(this.#tail, before, this.#deps.registry);
    for (const hook of this.roster.hooks()) {
      const isConcerned = concerned === null || concerned.has(hook.webhook.appId);
      if (isConcerned || !hook.pass(before)) this.#fill(hook);
    }
    this.#send();
  }

  /** Adds, updates and removes hooks; the result of a pending attempt of a removed hook is ignored. */
  registryChanged(): void {
    try {
      const removed = this.roster.reconcile();
      for (const hook of removed) this.#forget(hook);
      void this.#writeBuffer.flush().then(() => this.#sweep());
    } catch (error) {
      this.#deps.log.error({ err: error }, 'webhooks: registry unreadable; the known ones stay');
    }
    for (const hook of this.roster.hooks()) this.poke(hook);
  }

  poke(hook: Hook): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#fill(hook);
    this.#turns.add(hook);
    this.#send();
    if (!this.#isStopping) this.#timers.set(hook, hook.wakeMs(nowMs));
  }

  /** Commits pending changes; false: the store rejected them. */
  flush(): Promise<boolean> {
    return this.#writeBuffer.flush();
  }

  /**
   * Starts no more attempts, waits up to `stopMsMax` for the pending ones, and commits. An attempt without a result is
   * repeated after the next start.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#timers.clear();
    if (this.#inFlight > 0) await this.#idle();
    this.#isStopped = true;
    this.#deps.sender.close();
    for (const hook of this.roster.hooks()) {
      hook.moveUnfinishedToFailed();
      this.#writeBuffer.touch(hook);
    }
    await this.#writeBuffer.flush();
    this.#writeBuffer.stop();
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      const giveUp = this.#deps.clock.after(this.#limits.stopMsMax, () => resolve());
      this.#onIdle = () => {
        giveUp();
        resolve();
      };
    });
  }

  #fill(hook: Hook): void {
    if (this.#isStopping) return;
    try {
      if (hook.fill()) this.#readOnLater(hook);
      this.#turns.add(hook);
    } catch (error) {
      this.#deps.log.error({ err: error }, 'webhook: event log cannot be read; retried at the next event');
    }
  }

  #readOnLater(hook: Hook): void {
    if (this.#reading.size === 0) setImmediate(() => this.#readOn());
    this.#reading.add(hook);
  }

  #readOn(): void {
    const hooks = this.#reading;
    this.#reading = new Set();
    for (const hook of hooks) if (this.roster.has(hook)) this.#fill(hook);
    this.#send();
  }

  #send(): void {
    if (this.#isStopping) return;
    for (const hook of this.#turns) {
      const free = this.#limits.attemptsMax - this.#inFlight;
      if (free === 0) return;
      this.#turns.delete(hook);
      if (hook.inFlight >= free) this.#starved.add(hook);
      else this.#sendNext(hook);
    }
  }

  /** Sets iterate in insertion order, so that the hook's next turn comes after that of all others. */
  #sendNext(hook: Hook): void {
    const ticket = hook.nextAttempt();
    const event = ticket?.event;
    if (ticket === null || event === null || event === undefined) return;
    this.#turns.add(hook);
    this.#inFlight += 1;
    const message = { id: event.id, body: encodeEvent(event) };
    void this.#deps.sender.send(hook.webhook, message).then((answer) => this.#complete(hook, ticket, answer));
  }

  #complete(hook: Hook, ticket: Ticket, answer: WebhookAnswer): void {
    this.#inFlight -= 1;
    if (this.#isStopped) return;
    if (this.#inFlight === 0) this.#onIdle();
    for (const starved of this.#starved) this.#turns.add(starved);
    this.#starved.clear();
    if (!this.roster.has(hook)) return this.#send();
    hook.complete(ticket, answer);
    this.poke(hook);
  }

  /** Deletes the rows of removed hooks, after their removal is committed. */
  async #sweep(): Promise<void> {
    try {
      await this.#deps.deliveries.sweep();
    } catch (error) {
      this.#deps.log.error(
        { err: error },
        'webhooks: leftovers of deleted ones not removed; retried at the next start',
      );
    }
  }

  #forget(hook: Hook): void {
    this.#timers.set(hook, null);
    this.#turns.delete(hook);
    this.#starved.delete(hook);
    this.#reading.delete(hook);
  }
}

interface Armed {
  readonly atMs: number;
  readonly cancel: Cancel;
}

class WakeTimers {
  readonly #clock: Clock;
  readonly #wake: (hook: Hook) => void;
  readonly #armed = new Map<Hook, Armed>();

  constructor(clock: Clock, wake: (hook: Hook) => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** `atMs`: monotonic; null: cancels the timer. */
  set(hook: Hook, atMs: number | null): void {
    const armed = this.#armed.get(hook);
    if (armed?.atMs === atMs || (armed === undefined && atMs === null)) return;
    armed?.cancel();
    if (atMs === null) this.#armed.delete(hook);
    else this.#armed.set(hook, { atMs, cancel: this.#arm(hook, atMs) });
  }

  clear(): void {
    for (const { cancel } of this.#armed.values()) cancel();
    this.#armed.clear();
  }

  #arm(hook: Hook, atMs: number): Cancel {
    return this.#clock.after(Math.max(0, atMs - this.#clock.monotonicMs()), () => {
      this.#armed.delete(hook);
      this.#wake(hook);
    });
  }
}
