import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Allowance } from '../../../src/lib/token-bucket.ts';
import { legRatesMax, mediaMessageBytesMax } from '../../../src/model/limits.ts';

const frame = ['messages'] as const;
const text = ['messages', 'texts'] as const;

test('a sender may send a burst of each kind, and then so many a second', () => {
  for (const kinds of [frame, text]) {
    const kind = kinds.at(-1) ?? 'messages';
    const { burst, perSecond } = legRatesMax[kind];
    const allowance = new Allowance('a leg', legRatesMax, 0);
    const mayCome = (nowMs: number): number => {
      let count = 0;
      while (allowance.acquire(kinds, 0, nowMs) === null) count += 1;
      return count;
    };
    assert.deepEqual([mayCome(0), mayCome(0), mayCome(1000)], [burst, 0, perSecond]);
    const fault = `a leg sends ${perSecond} ${kind} a second at most, with a burst of ${burst}`;
    assert.equal(allowance.acquire(kinds, 0, 1000), fault);
    if (kind === 'texts') assert.equal(allowance.acquire(frame, 0, 1000), null, 'frames are not texts');
  }
});

test('bytes of every kind count', () => {
  const allowance = new Allowance('a leg', legRatesMax, 0);
  const { burst, perSecond } = legRatesMax.bytes;
  for (let bytes = 0; bytes < burst; bytes += mediaMessageBytesMax)
    assert.equal(allowance.acquire(frame, mediaMessageBytesMax, 0), null);
  const fault = `a leg sends ${perSecond} bytes a second at most, with a burst of ${burst}`;
  assert.equal(allowance.acquire(frame, mediaMessageBytesMax, 0), fault);
});

test('the largest frames at 15 a second, with audio and pings, never reach the limits of a leg', () => {
  const allowance = new Allowance('a leg', legRatesMax, 0);
  for (let ms = 0; ms < 60_000; ms += 1) {
    if (ms % 66 === 0) assert.equal(allowance.acquire(frame, mediaMessageBytesMax, ms), null);
    if (ms % 10 === 0) assert.equal(allowance.acquire(frame, 172, ms), null);
    if (ms % 1000 === 0) assert.equal(allowance.acquire(text, 30, ms), null);
  }
});

test('a leg may send the backlog of a network that stalled for 4 s at once', () => {
  const allowance = new Allowance('a leg', legRatesMax, 0);
  for (let message = 0; message < 4 * (60 + 100); message += 1)
    assert.equal(allowance.acquire(frame, 30_000, 4000), null);
});
