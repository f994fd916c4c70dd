/**
 * The one source of time: everything that waits, expires or stamps reads it, so that a test can drive it. Monotonic time never
 * steps and serves deadlines, leases and limits; wall time serves stamps that people and other machines read.
 */

export type Cancel = () => void;

export interface Clock {
  /** Milliseconds since an arbitrary moment, possibly with a fraction; never decreases. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch; may step either way. In src/model and src/protocol, `…AtMs` is such a time. */
  wallMs(): number;
  /** Runs once, at least `delayMs` of monotonic time from now. */
  after(delayMs: number, run: () => void): Cancel;
  /** Runs every `intervalMs` of monotonic time until cancelled. */
  every(intervalMs: number, run: () => void): Cancel;
}

/**
 * Monotonic milliseconds, rounded up. For fields of many objects: V8 stores an integer below 2^31 (here the first 24 days) in
 * the field itself, and allocates 16 bytes for any other number.
 */
export function wholeMsIn(clock: Clock, ms: number): number {
  return Math.ceil(clock.monotonicMs() + ms);
}

/** Whole Unix seconds, the unit of connectivity records. */
export function wallSeconds(clock: Clock): number {
  return Math.floor(clock.wallMs() / 1000);
}

/** Resolves after `ms` of monotonic time; rejects with the signal's reason when it is aborted. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Resolves in the next turn of the event loop, so that long work does not block it. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const quietTurnMsMax = 0.3;
const quietTurnsMax = 20;

/**
 * Resolves after a turn of the event loop that did little besides accepting and reading, at the latest after `quietTurnsMax`
 * turns: the accept queues are then as short as they get.
 */
export async function quietTurn(clock: Pick<Clock, 'monotonicMs'>): Promise<void> {
  // The rest of this turn drains the events that had already arrived.
  await nextTurn();
  for (let turns = 1; turns < quietTurnsMax; turns += 1) {
    const begunMs = clock.monotonicMs();
    await nextTurn();
    if (clock.monotonicMs() - begunMs <= quietTurnMsMax) return;
  }
}

/** True when `work` completes within `ms` of monotonic time; false when it does not, or fails. Never rejects. */
export function completesWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const giveUp = clock.after(ms, () => resolve(false));
    const settle = (isDone: boolean): void => {
      giveUp();
      resolve(isDone);
    };
    work.then(
      () => settle(true),
      () => settle(false),
    );
  });
}

/** Settles as `work` does; rejects with the sentence `late` when that takes longer than `ms` of monotonic time. */
export async function inTime<Value>(
  clock: Clock,
  ms: number,
  work: Promise<Value>,
  late: string,
): Promise<Value> {
  let giveUp: Cancel = () => undefined;
  const isLate = new Promise<never>((_, reject) => {
    giveUp = clock.after(ms, () => reject(new Error(late)));
  });
  return Promise.race([work, isLate]).finally(giveUp);
}
