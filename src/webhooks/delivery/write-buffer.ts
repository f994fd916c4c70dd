/**
 * Buffers changes of the delivery store and commits them in batches, after the deliveries that caused them. A cursor is never
 * committed before a failed event that it has passed, so that after a crash an event is at worst delivered twice. A batch
 * that the store rejects is retried until it is committed.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type {
  FailedEvent,
  HookChanges,
  HookRecord,
  ParkedEvent,
  DeliveryStore,
} from '../../core/ports/delivery-store.ts';
import { adviceOf } from '../../storage/lmdb/store-fault.ts';
import type { WebhookLimits } from './limits.ts';

/** A hook as the write buffer needs it. */
export interface BufferedHook {
  readonly id: string;
  readonly number: number;
  /** The current record. */
  record(): HookRecord;
}

export interface WriteBufferDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly deliveries: DeliveryStore;
  readonly limits: Pick<WebhookLimits, 'commitMs' | 'commitIdleMs' | 'commitRetryMs' | 'changesWaitingMax'>;
}

/** Changes of one hook since the last commit began. */
interface Page {
  readonly hook: BufferedHook;
  isDropped: boolean;
  readonly failed: Map<number, FailedEvent | null>;
  readonly parked: Map<number, ParkedEvent | null>;
  parkedTrimmed: number;
}

export class WriteBuffer {
  readonly #deps: WriteBufferDeps;
  /** By hook number, in the order of change. */
  #open = new Map<number, Page>();
  /** The batch of the current commit; unchanged when it is retried. */
  #committing: ReadonlyMap<number, HookChanges> = new Map();
  #openChanges = 0;
  #committingChanges = 0;
  #commit: Promise<void> | null = null;
  #cancelTimer: Cancel | null = null;
  #timerMs = 0;
  #isHealthy = true;

  constructor(deps: WriteBufferDeps) {
    this.#deps = deps;
  }

  /** True: the store rejects commits, and reading must stop. */
  get isFull(): boolean {
    return this.#openChanges + this.#committingChanges >= this.#deps.limits.changesWaitingMax;
  }

  /** Schedules a commit of the hook's record; `isIdle`: only events of other applications moved its cursor. */
  touch(hook: BufferedHook, isIdle = false): void {
    this.#page(hook);
    this.#schedule(isIdle ? this.#deps.limits.commitIdleMs : this.#deps.limits.commitMs);
  }

  setFailed(hook: BufferedHook, sequence: number, failed: FailedEvent | null): void {
    this.#page(hook).failed.set(sequence, failed);
    this.#openChanges += 1;
    this.touch(hook);
  }

  setParked(hook: BufferedHook, sequence: number, parked: ParkedEvent | null): void {
    this.#page(hook).parked.set(sequence, parked);
    this.#openChanges += 1;
    this.touch(hook);
  }

  /** Drops the oldest parked event. */
  trimParked(hook: BufferedHook): void {
    this.#page(hook).parkedTrimmed += 1;
    this.touch(hook);
  }

  /** Commits only the removal of the hook. */
  drop(hook: BufferedHook): void {
    const page = this.#page(hook);
    page.isDropped = true;
    page.failed.clear();
    page.parked.clear();
    this.touch(hook);
  }

  /** Returns the copy of a failed event; null: none. Throws when the store cannot be read. */
  findEvent(number: number, sequence: number): LoggedEvent | null {
    for (const pages of [this.#open, this.#committing]) {
      const failed = pages.get(number)?.failed.get(sequence);
      if (failed !== undefined) return failed?.event ?? null;
    }
    return this.#deps.deliveries.findFailed(number, sequence)?.event ?? null;
  }

  /** Commits all changes so far; false: the store rejected them. */
  async flush(): Promise<boolean> {
    await this.#commit;
    const isRetry = this.#committing.size > 0;
    await this.#begin();
    if (isRetry && this.#isHealthy) await this.#begin();
    return this.#isHealthy;
  }

  /** Commits nothing more. */
  stop(): void {
    this.#cancelTimer?.();
  }

  #page(hook: BufferedHook): Page {
    const known = this.#open.get(hook.number);
    if (known !== undefined) return known;
    const page = { hook, isDropped: false, failed: new Map(), parked: new Map(), parkedTrimmed: 0 };
    this.#open.set(hook.number, page);
    return page;
  }

  /** One timer, for the earliest requested time. */
  #schedule(delayMs: number): void {
    const dueMs = this.#deps.clock.monotonicMs() + delayMs;
    const isSoonEnough = this.#timerMs <= dueMs || this.#committing.size > 0;
    if (this.#commit !== null || (this.#cancelTimer !== null && isSoonEnough)) return;
    this.#cancelTimer?.();
    this.#timerMs = dueMs;
    this.#cancelTimer = this.#deps.clock.after(delayMs, () => void this.#begin());
  }

  #begin(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#committing.size === 0) {
      this.#committing = new Map(Array.from(this.#open, ([number, page]) => [number, changesOf(page)]));
      this.#committingChanges = this.#openChanges;
      this.#open = new Map();
      this.#openChanges = 0;
    }
    this.#commit ??= this.#handOver();
    return this.#commit;
  }

  async #handOver(): Promise<void> {
    const { deliveries, limits } = this.#deps;
    try {
      await deliveries.commit(Array.from(this.#committing.values()));
      this.#committing = new Map();
      this.#committingChanges = 0;
      this.#notifyHealth(null);
    } catch (error) {
      this.#notifyHealth(error);
    }
    this.#commit = null;
    if (this.#committing.size > 0) this.#schedule(limits.commitRetryMs);
    else if (this.#open.size > 0) this.#schedule(limits.commitMs);
  }

  #notifyHealth(failure: unknown): void {
    const isHealthy = failure === null;
    if (isHealthy === this.#isHealthy) return;
    this.#isHealthy = isHealthy;
    if (isHealthy) this.#deps.log.info({}, 'webhook store: accepts writes again');
    else
      this.#deps.log.error(
        { err: failure, advice: adviceOf(failure) },
        'webhook store: refuses writes; retrying',
      );
  }
}

/** Reads the record now: its cursor has passed only failed events that are in these changes or committed. */
function changesOf({ hook, isDropped, failed, parked, parkedTrimmed }: Page): HookChanges {
  const record = isDropped ? null : hook.record();
  return { id: hook.id, number: hook.number, record, failed, parked, parkedTrimmed };
}
