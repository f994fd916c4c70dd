import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { monotonicOriginMs, SystemClock } from '../../../src/lib/system-clock.ts';
import { startModuleWorker } from '../../../src/lib/module-worker.ts';

/** An origin reads two clocks: the time between the readings is lost. */
const readingMs = 0.1;

test('a moment of another thread lies between the question and the answer', async () => {
  const clock = new SystemClock();
  const originMs = monotonicOriginMs();
  const worker = startModuleWorker('../../support/clock-worker', import.meta.url, null);
  try {
    await once(worker, 'message');
    for (let round = 0; round < 20; round += 1) {
      const askedMs = clock.monotonicMs();
      worker.postMessage('');
      const [sentMs] = (await once(worker, 'message')) as [number];
      const answeredMs = clock.monotonicMs();
      const thereMs = sentMs - originMs;
      assert.ok(thereMs >= askedMs - readingMs && thereMs <= answeredMs + readingMs);
    }
  } finally {
    await worker.terminate();
  }
});
