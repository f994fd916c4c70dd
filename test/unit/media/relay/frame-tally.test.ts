import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTelemetry } from '../../../support/fakes.ts';
import { FrameTally } from '../../../../src/media/relay/frame-tally.ts';

test('half of the times are below the median, and one in a hundred above the last', () => {
  const tally = new FrameTally(new FakeTelemetry());
  assert.equal(tally.view().frameMs, null);
  for (let ms = 200; ms > 0; ms--) tally.pictureMade(ms, 0);
  assert.deepEqual(tally.view().frameMs, { p50: 100, p99: 198 });
});

test('256 times are kept, the newest', () => {
  const tally = new FrameTally(new FakeTelemetry());
  for (let n = 0; n < 1000; n++) tally.pictureMade(1000, 0);
  for (let n = 0; n < 256; n++) tally.pictureMade(5, 0);
  assert.deepEqual(tally.view().frameMs, { p50: 5, p99: 5 });
});
