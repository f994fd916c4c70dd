/**
 * Brings what this node has committed to where all members see it, in its order. An item is taken as soon as the outbox
 * tells of it, and forgotten when all see it: a crash in between has it brought again. While NATS is away nothing is
 * taken. Source: cluster.md, Events.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Outbox, PlacedItem } from '../../core/ports/outbox.ts';
import type { KeyedQueue } from '../nats/keyed-queue.ts';
import type { OutboxChanges } from './outbox-changes.ts';
import { changeRetryMsMax, outboxForgetMax, outboxForgetMs, outboxTakenMax } from '../records/row-limits.ts';

export interface PumpDeps {
  readonly outbox: Outbox;
  readonly queue: KeyedQueue;
  readonly changes: OutboxChanges;
  readonly clock: Clock;
  readonly log: Log;
  readonly isUnavailable: () => boolean;
}

export class OutboxPump {
  readonly #deps: PumpDeps;
  #after = 0;
  /** Read, and not yet forgotten. */
  #taken = 0;
  #done: number[] = [];
  #isForgetting = false;
  #isRunning = false;
  #unfollow: Cancel = () => undefined;
  #retry: Cancel | null = null;
  #cancelForgetting: Cancel = () => undefined;
  #emptied: (() => void)[] = [];

  constructor(deps: PumpDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isRunning = true;
    this.#unfollow = this.#deps.outbox.follow(() => this.take());
    this.take();
  }

  /** Takes no more; what is under way goes on, and is brought again after the next start if it comes to nothing. */
  stop(): void {
    this.#isRunning = false;
    this.#unfollow();
    this.#retry?.();
    this.#cancelForgetting();
    for (const resolve of this.#emptied.splice(0)) resolve();
  }

  /** Resolves when nothing waits any more, or with `stop`. */
  emptied(): Promise<void> {
    if (this.#deps.outbox.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptied.push(resolve));
  }

  /** As much as there is room for. Also to be called when NATS is back. */
  take(): void {
    const { outbox, isUnavailable } = this.#deps;
    try {
      while (this.#isRunning && this.#taken < outboxTakenMax && !isUnavailable()) {
        const items = outbox.read(this.#after, outboxTakenMax - this.#taken);
        if (items.length === 0) return;
        for (const placed of items) this.#push(placed);
      }
    } catch (error) {
      this.#unreadable(error);
    }
  }

  #push({ place, item }: PlacedItem): void {
    const { queue, changes } = this.#deps;
    this.#after = place;
    this.#taken += 1;
    queue.push(item.deviceId, changes.of(item), () => {
      changes.dropped(item);
      this.#done.push(place);
      this.#forgetSoon();
    });
  }

  #unreadable(error: unknown): void {
    const { log, clock } = this.#deps;
    log.error({ err: error }, 'the outbox cannot be read; tried on');
    this.#retry?.();
    this.#retry = clock.after(changeRetryMsMax, () => this.take());
  }

  #forgetSoon(): void {
    if (this.#isForgetting || !this.#isRunning) return;
    this.#isForgetting = true;
    this.#cancelForgetting = this.#deps.clock.after(outboxForgetMs, () => void this.#forget());
  }

  async #forget(): Promise<void> {
    const { outbox, log } = this.#deps;
    const places = this.#done.splice(0, outboxForgetMax);
    try {
      await outbox.forget(places);
      this.#taken -= places.length;
    } catch (error) {
      log.error({ err: error }, 'what is shared cannot be taken from the outbox; tried on');
      this.#done.unshift(...places);
    }
    this.#isForgetting = false;
    // The store may be closed by now.
    if (!this.#isRunning) return;
    if (this.#done.length > 0) this.#forgetSoon();
    if (outbox.length === 0) for (const resolve of this.#emptied.splice(0)) resolve();
    this.take();
  }
}
