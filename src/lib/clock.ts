/**
 * The one source of time. Everything that waits, expires or stamps takes it from here, so that a test can
 * drive it. Two readings, because they answer different questions: the monotonic one never steps and is for
 * deadlines, leases and limits; the wall one is for stamps that people and other machines read.
 */

export type Cancel = () => void;

export interface Clock {
  /** Milliseconds since some fixed moment; may have a fraction; never goes back. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch; may step either way. */
  wallMs(): number;
  /** Runs once, at least `delayMs` of monotonic time from now. */
  after(delayMs: number, run: () => void): Cancel;
  /** Runs every `intervalMs` of monotonic time until cancelled. */
  every(intervalMs: number, run: () => void): Cancel;
}

/**
 * Monotonic milliseconds, rounded up. For what many objects keep: V8 keeps a whole number below 2^31, here the first 24
 * days, in the field itself, and makes any other an object of 16 bytes.
 */
export function wholeMsIn(clock: Clock, ms: number): number {
  return Math.ceil(clock.monotonicMs() + ms);
}

/** Whole Unix seconds, the unit of every stamp in a connectivity record. */
export function wallSeconds(clock: Clock): number {
  return Math.floor(clock.wallMs() / 1000);
}

/** Resolves after `ms` of monotonic time; rejects with the reason of the signal as soon as that is aborted. */
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

/** Resolves in the next turn of the event loop, so that a long piece of work does not keep it. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const quietTurnMsMax = 0.3;
const quietTurnsMax = 20;

/**
 * Resolves right behind a turn of the event loop that did little else than take what had come, at the latest behind
 * `quietTurnsMax` of them: what has come to a listener and was not accepted is then as little as can be.
 */
export async function quietTurn(clock: Pick<Clock, 'monotonicMs'>): Promise<void> {
  // What is left of this turn took what came before it.
  await nextTurn();
  for (let turns = 1; turns < quietTurnsMax; turns += 1) {
    const begunMs = clock.monotonicMs();
    await nextTurn();
    if (clock.monotonicMs() - begunMs <= quietTurnMsMax) return;
  }
}

/** True as soon as `work` is done; false when it is not within `ms` of monotonic time, or has failed. Never rejects. */
export function settlesWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
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

/** Settles as `work` does, and rejects with the sentence `late` when it has not within `ms` of monotonic time. */
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
