import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  legBytesBurstMax,
  legBytesPerSecondMax,
  legMessagesBurstMax,
  legMessagesPerSecondMax,
  legTextsBurstMax,
  legTextsPerSecondMax,
  mediaMessageBytesMax,
} from '../../../../src/model/limits.ts';
import { LegAllowance } from '../../../../src/media/legs/leg-allowance.ts';

/** How many of these in a row may come at that moment, up to 10 000. */
function mayCome(allowance: LegAllowance, isText: boolean, nowMs: number): number {
  for (let n = 0; n < 10_000; n += 1) if (allowance.take(isText, 0, nowMs) !== null) return n;
  return 10_000;
}

test('of messages that are no texts a leg may send a burst, and then so many a second', () => {
  const allowance = new LegAllowance(0);
  assert.equal(mayCome(allowance, false, 0), legMessagesBurstMax);
  assert.equal(mayCome(allowance, false, 0), 0, 'who goes on is not let off');
  assert.equal(mayCome(allowance, false, 1000), legMessagesPerSecondMax);
  assert.equal(
    allowance.take(false, 0, 1000),
    `a leg sends ${legMessagesPerSecondMax} messages a second at most, and ${legMessagesBurstMax} at once`,
  );
});

test('of texts a leg may send fewer', () => {
  const allowance = new LegAllowance(0);
  assert.equal(mayCome(allowance, true, 0), legTextsBurstMax);
  assert.equal(
    allowance.take(true, 0, 0),
    `a leg sends ${legTextsPerSecondMax} texts a second at most, and ${legTextsBurstMax} at once`,
  );
  assert.equal(allowance.take(false, 0, 0), null, 'frames are not texts');
  assert.equal(mayCome(allowance, true, 1000), legTextsPerSecondMax);
});

test('bytes count as they come off the wire', () => {
  const allowance = new LegAllowance(0);
  let bytesRead = 0;
  const take = (nowMs: number): string | null =>
    allowance.take(false, (bytesRead += mediaMessageBytesMax), nowMs);
  for (let frame = 0; frame < legBytesBurstMax / mediaMessageBytesMax; frame += 1)
    assert.equal(take(0), null);
  const fault = `a leg sends ${legBytesPerSecondMax} bytes a second at most, and ${legBytesBurstMax} at once`;
  assert.equal(take(0), fault);
});

test('the largest frames at 15 a second, audio and pings beside them, never come to a bound', () => {
  const allowance = new LegAllowance(0);
  let bytesRead = 0;
  for (let ms = 0; ms < 60_000; ms += 1) {
    if (ms % 66 === 0) assert.equal(allowance.take(false, (bytesRead += mediaMessageBytesMax), ms), null);
    if (ms % 10 === 0) assert.equal(allowance.take(false, (bytesRead += 172), ms), null);
    if (ms % 1000 === 0) assert.equal(allowance.take(true, (bytesRead += 30), ms), null);
  }
});

test('what a network that stood still for 4 s hands over at once may come', () => {
  const allowance = new LegAllowance(0);
  for (let message = 0; message < 4 * (60 + 100); message += 1)
    assert.equal(allowance.take(false, message * 30_000, 4000), null);
});
