/** The delay of the event loop, as several readers see it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventLoopDelay } from '../../../src/telemetry/event-loop-delay.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

function holdLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Until the histograms have counted once more: they look every 10 ms. */
async function counted(delay: EventLoopDelay, before: number): Promise<void> {
  while (delay.read().count <= before) await new Promise((resolve) => setImmediate(resolve));
}

test('a delay is seen by every reader for a quarter minute, and is gone after a half', async () => {
  const clock = new DrivenClock();
  const delay = new EventLoopDelay(clock);
  await counted(delay, 0);
  holdLoop(60);
  await counted(delay, delay.read().count);
  for (let readers = 0; readers < 3; readers++) assert.ok(delay.read().max >= 50e6);
  clock.advance(15_000);
  for (let readers = 0; readers < 3; readers++)
    assert.ok(delay.read().max >= 50e6, 'a reader of before takes nothing from those after it');
  clock.advance(15_000);
  assert.ok(delay.read().max < 50e6);
});
