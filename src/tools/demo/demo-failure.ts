/** A step of the story that did not go as it should: what was expected, and what came. */
import type { Clock } from '../../lib/clock.ts';

export class DemoFailure extends Error {
  override readonly name = 'DemoFailure';

  constructor(expected: string, got: unknown) {
    super(`expected ${expected}; got ${typeof got === 'string' ? got : JSON.stringify(got)}`);
  }
}

/** What anybody sends is under way for a moment: it is waited for, or asked for again, this long. */
export const patienceMs = 5000;
const askAgainMs = 20;

/** What comes in time; otherwise a DemoFailure. */
export function within<Value>(clock: Clock, expected: string, coming: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const fail = (got: string): void => reject(new DemoFailure(expected, got));
    const cancel = clock.after(patienceMs, () => fail(`nothing within ${patienceMs / 1000} s`));
    coming.then(resolve, (error: Error) => fail(error.message)).finally(cancel);
  });
}

/** Asks again until the answer is right; a DemoFailure when it isn't in time. */
export async function untilRight<Value>(
  clock: Clock,
  expected: string,
  ask: () => Promise<Value>,
  isRight: (value: Value) => boolean,
): Promise<Value> {
  const untilMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const value = await ask();
    if (isRight(value)) return value;
    if (clock.monotonicMs() > untilMs) throw new DemoFailure(expected, value);
    await new Promise<void>((resolve) => void clock.after(askAgainMs, resolve));
  }
}
