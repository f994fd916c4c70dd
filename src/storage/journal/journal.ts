/**
 * Everything the running server must not forget, in the order in which it happened: records, events, or both at
 * once. Writes are behind: what is written is in memory, where reads see it, until the store has committed it. A
 * batch takes a prefix of what waits, so that whatever a crash leaves is a moment that really was. One batch is under
 * way at a time and what came meanwhile goes with the next: the busier the store, the bigger the batches. A batch
 * that fails is handed over again, whole, every second until it is taken.
 *
 * Entries that somebody waits for start a commit at the end of the turn; those that nobody waits for collect for a
 * moment, since a commit for each is most of what they cost. Whoever asks for one of them hastens it.
 *
 * Past `loginsMax` no device may log in that has no session, and past `backlogMax` it is overloaded: entries are still taken,
 * because what they say has happened, and their owners stop letting in what causes them. Source: decisions.md, Durable.
 */
import { BoundedQueue } from '../../lib/queues.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import type { Committer } from './committer.ts';
import type { EntryTaker, JournalEntry, Waiter } from './journal-slot.ts';
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
  /** The device's product now; null: it has none. What it throws counts as none. */
  readonly productOf: (deviceId: DeviceId) => ProductId | null;
  /** Entries in memory past which the store is overloaded. */
  readonly backlogMax: number;
  /** Entries in memory past which no device logs in that has no session, until half of them are committed; left out: `backlogMax`. */
  readonly loginsMax?: number;
  /** Entries handed over at once; `commitWritesMax` unless a test wants another size. */
  readonly batchMax?: number;
  /**
   * Told with the error when the store stops taking commits, and when it refuses them for another reason; with null when it
   * takes them again.
   */
  readonly onHealth?: (failure: unknown) => void;
  /**
   * Whether a store that refused for `failure` may take the batch now, asked before it is tried again; left out: it may.
   * Never rejects.
   */
  readonly mayTake?: (failure: unknown) => Promise<boolean>;
  /** Told when logins are closed, and when they are open again. */
  readonly onLogins?: (areClosed: boolean) => void;
}

type Phase = 'idle' | 'collecting' | 'scheduled' | 'committing';

export class Journal implements EntryTaker {
  readonly #deps: JournalDeps;
  /** Not yet handed over. The journal's own bound is `isOverloaded`: nothing that happened is refused. */
  readonly #pending = new BoundedQueue<JournalEntry>(Infinity);
  #batch: JournalEntry[] = [];
  #last: JournalEntry | null = null;
  #phase: Phase = 'idle';
  #isAwaited = false;
  /** Not only that it is told: somebody goes on when it is committed. */
  #isWaitedFor = false;
  /** Entries of the latest batch. */
  #lastSize = 0;
  #stopCollecting: Cancel | null = null;
  /** Why the store has refused the latest batch; null: it was taken. */
  #refusal: StoreFault | null = null;
  #loginsAreClosed = false;
  readonly #batchMax: number;
  readonly #loginsMax: number;
  #told: (events: readonly LoggedEvent[]) => void = () => undefined;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
    this.#batchMax = deps.batchMax ?? commitWritesMax;
    this.#loginsMax = deps.loginsMax ?? deps.backlogMax;
  }

  /** False while the store refuses commits: what is written waits in memory. */
  get isHealthy(): boolean {
    return this.#refusal === null;
  }

  /** The store has fallen too far behind: let in nothing that causes new entries. Entries are still taken. */
  get isOverloaded(): boolean {
    return this.backlog > this.#deps.backlogMax;
  }

  /** No device may log in that has no session: each login is an entry, and memory is bounded. */
  get loginsAreClosed(): boolean {
    return this.#loginsAreClosed;
  }

  /** Entries in memory that are not committed. */
  get backlog(): number {
    return this.#pending.length + this.#batch.length;
  }

  /** `told` gets the events of every batch right after its commit, before anybody who waits for it goes on. Never throws. */
  onCommitted(told: (events: readonly LoggedEvent[]) => void): void {
    this.#told = told;
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

  take(entry: JournalEntry, isAwaited: boolean): void {
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

  /** Resolves when everything written before the call is committed, and hastens it. */
  async allCommitted(): Promise<void> {
    if (this.#last !== null) await this.committedOf(this.#last);
  }

  #collect(): void {
    this.#phase = 'collecting';
    this.#stopCollecting = this.#deps.clock.after(collectMsMax, () => this.#hasten());
  }

  /** What happened in this turn of the loop goes together. */
  #hasten(): void {
    this.#isAwaited = true;
    if (this.#phase === 'committing' || this.#phase === 'scheduled') return;
    this.#stopCollecting?.();
    this.#handOverAfter(0, this.#deps.clock.monotonicMs());
  }

  /** After so many turns of the loop, less when they are long or somebody waits. */
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
    // Of what is left over, some may be awaited.
    this.#isAwaited = this.#pending.length > 0;
    this.#isWaitedFor = this.#isAwaited;
    void this.#commit();
  }

  async #commit(): Promise<void> {
    const { committer, clock } = this.#deps;
    const batch = this.#batch;
    try {
      await committer.commit(batch, (events) => this.#settle(batch, events));
    } catch (error) {
      this.#turn(error);
      clock.after(commitRetryMs, () => this.#tryAgain(error));
      return;
    }
    this.#turn(null);
    this.#goOn();
  }

  /** What was visible is committed, though the disk refused it: it is not put again, and what follows will tell. */
  #tryAgain(failure: unknown): void {
    if (this.#batch.length === 0) this.#goOn();
    else if (this.#deps.mayTake === undefined) void this.#commit();
    else void this.#commitIfTaken(failure, this.#deps.mayTake);
  }

  async #commitIfTaken(failure: unknown, mayTake: (failure: unknown) => Promise<boolean>): Promise<void> {
    if (await mayTake(failure)) void this.#commit();
    else this.#deps.clock.after(commitRetryMs, () => this.#tryAgain(failure));
  }

  /** The batch is committed: reads find it in the store, and who waits for it goes on. */
  #settle(committed: readonly JournalEntry[], events: readonly LoggedEvent[]): void {
    this.#batch = [];
    if (committed.at(-1) === this.#last) this.#last = null;
    if (this.#loginsAreClosed && this.backlog <= this.#loginsMax / 2) this.#closeLogins(false);
    for (const entry of committed) {
      entry.settle();
      entry.waiter?.resolve();
    }
    if (events.length > 0) this.#told(events);
  }

  /**
   * One batch at a time, the disk included: the busier it is, the more go together. After a batch of several the next
   * lets some turns of the loop pass, which are long when there is much else to do: a commit costs the same for many.
   */
  #goOn(): void {
    this.#phase = 'idle';
    const turns = Math.min(this.#lastSize - 1, turnsBetweenMax);
    if (this.#isAwaited) this.#handOverAfter(turns, this.#deps.clock.monotonicMs());
    else if (this.#pending.length > 0) this.#collect();
  }

  #turn(failure: unknown): void {
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

const unsettled = (): void => undefined;

function makeWaiter(): Waiter {
  let resolve = unsettled;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
