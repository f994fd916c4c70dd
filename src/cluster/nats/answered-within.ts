/** Awaits a NATS reply until the caller's deadline. */
import type { Clock } from '../../lib/clock.ts';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';

/** Rejects with SharedStateUnavailable after `waitMs`; a later reply is dropped. */
export function answeredWithin<Value>(clock: Clock, waitMs: number, answer: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = clock.after(waitMs, () =>
      reject(new SharedStateUnavailable(`no answer of NATS in ${waitMs} ms`)),
    );
    answer.then(resolve, reject).finally(giveUp);
  });
}
