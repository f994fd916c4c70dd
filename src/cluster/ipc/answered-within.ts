/** An answer of NATS that somebody waits for no longer than he can. */
import type { Clock } from '../../lib/clock.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';

/** Rejects with SharedStateAway after `waitMs`; what comes later is of no consequence. */
export function answeredWithin<Value>(clock: Clock, waitMs: number, answer: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = clock.after(waitMs, () =>
      reject(new SharedStateUnavailable(`no answer of NATS in ${waitMs} ms`)),
    );
    answer.then(resolve, reject).finally(giveUp);
  });
}
