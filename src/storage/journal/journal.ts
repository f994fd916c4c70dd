/**
 * The write-behind queue of the running server: records and events in the order in which they happened. Writes are asynchronous:
 * entries stay in memory, where reads see them, until the store has committed them. Each batch is a prefix of the queue, so a
 * crash always leaves a state that existed. One batch is under way at a time; entries that arrive meanwhile form the next, so
 * batches grow with the load. A batch that fails is retried whole every second.
 *
 * An awaited entry starts a commit at the end of the turn. Other entries collect for a moment, because a commit for each would
 * be most of their cost; awaiting one of them starts the commit.
 *
 * Beyond `loginsMax` no device without a session may log in; beyond `backlogMax` the journal is overloaded. It still accepts
 * entries, because they have happened already; callers stop accepting the requests that cause them. Source: decisions.md,
 * Durable.
 */
import { BoundedQueue } from '../../lib/collections/queues.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import type { Committer } from './committer.ts';
import type { EntryQueue, JournalEntry, Waiter } from './journal-slot.ts';
import { deviceOfEvent, type Transition } from './transition.ts';
import { faultOf, type StoreFault } from '../lmdb/store-fault.ts';
import {
  collectedMax,
  collectMsMax,
  commitRetryMs,
  commitWritesMax,
  betweenMsMax,
  turnsBetweenMax,
  waitedTurnsMax,
} from '../lmdb/store-limits.ts';

export interface JournalDeps {
  readonly clock: Clock;
  readonly committer: Pick<Committer, 'commit'>;
  /** The device's current product; null: none. An exception counts as none. */
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** Entries in memory beyond which the store is overloaded. */
  readonly backlogMax: number;
  /**
   * Entries in memory beyond which devices without a session cannot log in, until the backlog has halved. Default:
   * `backlogMax`.
   */
  readonly loginsMax?: number;
  /** Entries per batch. Default: `commitWritesMax`. */
  readonly batchMax?: number;
  /** Called with the error when commits begin to fail or fail for another reason, and with null when they succeed again. */
  readonly onHealth?: (failure: unknown) => void;
  /** Asked before a failed commit is retried: false postpones the retry. Default: always true. Never rejects. */
  readonly mayAccept?: (failure: unknown) => Promise<boolean>;
  readonly onLogins?: (areClosed: boolean) => void;
}

type Phase = 'idle' | 'collecting' | 'scheduled' | 'committing';

export class Journal implements EntryQueue {
  readonly #deps: JournalDeps;
  /** Entries not handed over yet. Unbounded: `isOverloaded` is the journal's bound, and no entry is refused. */
  readonly #pending = new BoundedQueue<JournalEntry>(Infinity);
  #batch: JournalEntry[] = [];
  #last: JournalEntry | null = null;
  #phase: Phase = 'idle';
  #isAwaited = false;
  /** True: a caller awaits the commit, in addition to event followers. */
  #isWaitedFor = false;
  #lastSize = 0;
  #stopCollecting: Cancel | null = null;
  /** Fault of the latest commit; null: it succeeded. */
  #refusal: StoreFault | null = null;
  #loginsAreClosed = false;
  readonly #batchMax: number;
  readonly #loginsMax: number;
  #onEvents: (events: readonly LoggedEvent[]) => void = () => undefined;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
    this.#batchMax = deps.batchMax ?? commitWritesMax;
    this.#loginsMax = deps.loginsMax ?? deps.backlogMax;
  }

  get isHealthy(): boolean {
    return this.#refusal === null;
  }

  /** True: the store is too far behind; callers must reject requests that cause new entries. Entries are still accepted. */
  get isOverloaded(): boolean {
    return this.backlog > this.#deps.backlogMax;
  }

  /** True: devices without a session may not log in, since each login adds an entry. */
  get loginsAreClosed(): boolean {
    return this.#loginsAreClosed;
  }

  get backlog(): number {
    return this.#pending.length + this.#batch.length;
  }

  /**
   * `listener` receives the events of each batch right after its commit, before callers that await it continue. Must not throw.
   */
  onCommitted(listener: (events: readonly LoggedEvent[]) => void): void {
    this.#onEvents = listener;
  }

  productOf(transition: Transition): ProductId | null {
    if (transition.kind === 'registry') return transition.productId;
    const deviceId = deviceOfEvent(transition);
    if (deviceId === null) return null;
    try {
      return this.#deps.productOf(deviceId);
    } catch {
      return null;
    }
  }

  enqueue(entry: JournalEntry, isAwaited: boolean): void {
    this.#pending.push(entry);
    this.#last = entry;
    if (!this.#loginsAreClosed && this.backlog > this.#loginsMax) this.#closeLogins(true);
    if (isAwaited || this.#pending.length >= collectedMax) this.#hasten();
    else if (this.#phase === 'idle') this.#collect();
  }

  committedOf(entry: JournalEntry): Promise<void> {
    if (!entry.isHandedOver) {
      this.#isWaitedFor = true;
      this.#hasten();
    }
    return (entry.waiter ??= makeWaiter()).promise;
  }

  /** Resolves when all entries written before the call are committed, and starts the commit sooner. */
  async allCommitted(): Promise<void> {
    if (this.#last !== null) await this.committedOf(this.#last);
  }

  #collect(): void {
    this.#phase = 'collecting';
    this.#stopCollecting = this.#deps.clock.after(collectMsMax, () => this.#hasten());
  }

  /** Commits at the end of this turn of the loop, so that all of its entries share a batch. */
  #hasten(): void {
    this.#isAwaited = true;
    if (this.#phase === 'committing' || this.#phase === 'scheduled') return;
    this.#stopCollecting?.();
    this.#handOverAfter(0, this.#deps.clock.monotonicMs());
  }

  /** Hands over after `turns` turns of the loop, sooner if turns are long or a caller waits. */
  #handOverAfter(turns: number, sinceMs: number, passed = 0): void {
    this.#phase = 'scheduled';
    setImmediate(() => {
      const turnsMax = this.#isWaitedFor ? Math.min(turns, waitedTurnsMax) : turns;
      const isTime = passed >= turnsMax || this.#deps.clock.monotonicMs() - sinceMs >= betweenMsMax;
      if (isTime) this.#handOver();
      else this.#handOverAfter(turns, sinceMs, passed + 1);
    });
  }

  #handOver(): void {
    this.#phase = 'committing';
    while (this.#batch.length < this.#batchMax) {
      const entry = this.#pending.shift();
      if (entry === undefined) break;
      entry.isHandedOver = true;
      this.#batch.push(entry);
    }
    this.#lastSize = this.#batch.length;
    // Some of the remaining entries may be awaited.
    this.#isAwaited = this.#pending.length > 0;
    this.#isWaitedFor = this.#isAwaited;
    void this.#commit();
  }

  async #commit(): Promise<void> {
    const { committer, clock } = this.#deps;
    const batch = this.#batch;
    try {
      await committer.commit(batch, (events) => this.#complete(batch, events));
    } catch (error) {
      this.#reportHealth(error);
      clock.after(commitRetryMs, () => this.#retry(error));
      return;
    }
    this.#reportHealth(null);
    this.#scheduleNext();
  }

  /**
   * If the batch was visible, it is committed although the disk refused it; it is not put again, and the next commit shows the
   * fault.
   */
  #retry(failure: unknown): void {
    if (this.#batch.length === 0) this.#scheduleNext();
    else if (this.#deps.mayAccept === undefined) void this.#commit();
    else void this.#commitIfAccepted(failure, this.#deps.mayAccept);
  }

  async #commitIfAccepted(
    failure: unknown,
    mayAccept: (failure: unknown) => Promise<boolean>,
  ): Promise<void> {
    if (await mayAccept(failure)) void this.#commit();
    else this.#deps.clock.after(commitRetryMs, () => this.#retry(failure));
  }

  /** The batch is committed: reads find it in the store, and callers that await it continue. */
  #complete(committed: readonly JournalEntry[], events: readonly LoggedEvent[]): void {
    this.#batch = [];
    if (committed.at(-1) === this.#last) this.#last = null;
    if (this.#loginsAreClosed && this.backlog <= this.#loginsMax / 2) this.#closeLogins(false);
    for (const entry of committed) {
      entry.complete();
      entry.waiter?.resolve();
    }
    if (events.length > 0) this.#onEvents(events);
  }

  /**
   * Schedules the next batch. After a batch of several entries it waits some turns of the loop, so that a busy server commits
   * more entries at once: a commit costs the same for many.
   */
  #scheduleNext(): void {
    this.#phase = 'idle';
    const turns = Math.min(this.#lastSize - 1, turnsBetweenMax);
    if (this.#isAwaited) this.#handOverAfter(turns, this.#deps.clock.monotonicMs());
    else if (this.#pending.length > 0) this.#collect();
  }

  #reportHealth(failure: unknown): void {
    const refusal = failure === null ? null : faultOf(failure);
    if (this.#refusal === refusal) return;
    this.#refusal = refusal;
    this.#deps.onHealth?.(failure);
  }

  #closeLogins(areClosed: boolean): void {
    this.#loginsAreClosed = areClosed;
    this.#deps.onLogins?.(areClosed);
  }
}

const unresolved = (): void => undefined;

function makeWaiter(): Waiter {
  let resolve = unresolved;
  const promise = new Promise<void>((onResolve) => {
    resolve = onResolve;
  });
  return { promise, resolve };
}
