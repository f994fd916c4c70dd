import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentTimes } from '../../../../src/media/relay/recent-times.ts';

test('half of the times are below the median, and one in a hundred above the last', () => {
  const times = new RecentTimes();
  assert.equal(times.view(), null);
  for (let ms = 200; ms > 0; ms--) times.add(ms);
  assert.deepEqual(times.view(), { p50: 100, p99: 198 });
});

test('256 times are kept, the newest', () => {
  const times = new RecentTimes();
  for (let n = 0; n < 1000; n++) times.add(1000);
  for (let n = 0; n < 256; n++) times.add(5);
  assert.deepEqual(times.view(), { p50: 5, p99: 5 });
});
