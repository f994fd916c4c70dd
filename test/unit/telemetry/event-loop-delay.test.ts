/** Event loop delay with several readers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventLoopDelay } from '../../../src/telemetry/event-loop-delay.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

function blockLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Waits until the histograms have sampled again, which they do every 10 ms. */
async function counted(delay: EventLoopDelay, before: number): Promise<void> {
  while (delay.read().count <= before) await new Promise((resolve) => setImmediate(resolve));
}

test('every reader sees a delay for 15 s, and none after 30 s', async () => {
  const clock = new DrivenClock();
  const delay = new EventLoopDelay(clock);
  await counted(delay, 0);
  blockLoop(60);
  await counted(delay, delay.read().count);
  for (let readers = 0; readers < 3; readers++) assert.ok(delay.read().max >= 50e6);
  clock.advance(15_000);
  for (let readers = 0; readers < 3; readers++)
    assert.ok(delay.read().max >= 50e6, 'a reader of before takes nothing from those after it');
  clock.advance(15_000);
  assert.ok(delay.read().max < 50e6);
});
