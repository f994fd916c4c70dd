/**
 * Writes that nobody waits for and none of which is lost. The newest value of every key is in memory, where
 * reads see it, until the store has committed it. One batch is under way at a time and what came meanwhile goes
 * with the next: the busier the store, the bigger the batches. A batch that fails is handed over again, whole,
 * every second until it is taken.
 *
 * The backlog holds one value a key, so it is bounded by the keys there can be; past `backlogMax` it is
 * overloaded: writes are still taken, because what they say has happened, and the owner stops letting in what
 * causes them.
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { commitRetryMs, commitWritesMax } from './store-limits.ts';

export interface WriteBehindParts<Value> {
  readonly clock: Clock;
  /** Writes all of `values`; resolves when they are committed, rejects when none of them is. May be asked again. */
  readonly commit: (values: ReadonlyMap<string, Value>) => Promise<void>;
  readonly backlogMax: number;
  /** How long a batch collects before it is handed over, for what nobody waits for; 0 or absent: this turn's end. */
  readonly collectMs?: number;
  /** Told when a commit failed after a good one, with its error, and when one is good again, with null. */
  readonly onHealth?: (failure: unknown) => void;
}

interface Waiter {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

export class WriteBehind<Value> {
  readonly #parts: WriteBehindParts<Value>;
  /** Not yet handed over, oldest key first. */
  readonly #pending = new Map<string, Value>();
  readonly #pendingWaiters = new Map<string, Waiter>();
  #committing = new Map<string, Value>();
  readonly #committingWaiters = new Map<string, Waiter>();
  /** Keys that ever became pending, and those of them that are committed: both grow in the same order. */
  #taken = 0;
  #committed = 0;
  readonly #drains: { readonly taken: number; readonly waiter: Waiter }[] = [];
  #isIdle = true;
  #isHealthy = true;

  constructor(parts: WriteBehindParts<Value>) {
    this.#parts = parts;
  }

  /** False while the store refuses commits. */
  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  get isOverloaded(): boolean {
    return this.backlog > this.#parts.backlogMax;
  }

  /** Values in memory that are not committed. */
  get backlog(): number {
    return this.#pending.size + this.#committing.size;
  }

  /** The newest value not yet committed; undefined: ask the store. */
  get(key: string): Value | undefined {
    return this.#pending.get(key) ?? this.#committing.get(key);
  }

  set(key: string, value: Value): void {
    const before = this.#pending.size;
    this.#pending.set(key, value);
    this.#taken += this.#pending.size - before;
    if (this.#isIdle) this.#schedule();
  }

  /** Resolves when the newest value of `key` is committed; null when it is. */
  committed(key: string): Promise<void> | null {
    if (this.#pending.has(key)) return waiterFor(this.#pendingWaiters, key).promise;
    return this.#committing.has(key) ? waiterFor(this.#committingWaiters, key).promise : null;
  }

  /** Resolves when everything set before the call is committed. */
  allCommitted(): Promise<void> {
    if (this.#committed === this.#taken) return Promise.resolve();
    const waiter = makeWaiter();
    this.#drains.push({ taken: this.#taken, waiter });
    return waiter.promise;
  }

  /** Everything that happened in this turn of the loop goes together. */
  #schedule(): void {
    this.#isIdle = false;
    setImmediate(() => this.#handOver());
  }

  #handOver(): void {
    assert(this.#committing.size === 0, 'one batch is under way at a time');
    for (const [key, value] of this.#pending) {
      if (this.#committing.size >= commitWritesMax) break;
      this.#committing.set(key, value);
      this.#pending.delete(key);
      this.#moveWaiter(key);
    }
    void this.#commit();
  }

  #moveWaiter(key: string): void {
    const waiter = this.#pendingWaiters.get(key);
    if (waiter === undefined) return;
    this.#pendingWaiters.delete(key);
    this.#committingWaiters.set(key, waiter);
  }

  async #commit(): Promise<void> {
    try {
      await this.#parts.commit(this.#committing);
    } catch (error) {
      this.#parts.clock.after(commitRetryMs, () => void this.#commit());
      this.#turn(false, error);
      return;
    }
    this.#finish();
    this.#turn(true, null);
  }

  #finish(): void {
    this.#committed += this.#committing.size;
    this.#committing = new Map();
    for (const { resolve } of this.#committingWaiters.values()) resolve();
    this.#committingWaiters.clear();
    while ((this.#drains[0]?.taken ?? Infinity) <= this.#committed) this.#drains.shift()?.waiter.resolve();
    if (this.#pending.size > 0) this.#schedule();
    else this.#isIdle = true;
  }

  #turn(isHealthy: boolean, failure: unknown): void {
    if (this.#isHealthy === isHealthy) return;
    this.#isHealthy = isHealthy;
    this.#parts.onHealth?.(failure);
  }
}

function waiterFor(waiters: Map<string, Waiter>, key: string): Waiter {
  const known = waiters.get(key);
  if (known !== undefined) return known;
  const waiter = makeWaiter();
  waiters.set(key, waiter);
  return waiter;
}

const unsettled = (): void => undefined;

function makeWaiter(): Waiter {
  let resolve = unsettled;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
