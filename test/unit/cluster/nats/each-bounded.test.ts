import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { eachBounded } from '../../../../src/cluster/nats/each-bounded.ts';

test('so many are worked on at once, and all in the end', async () => {
  let underWay = 0;
  let most = 0;
  const seen: number[] = [];
  await eachBounded([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    most = Math.max(most, (underWay += 1));
    await turn();
    seen.push(item);
    underWay -= 1;
  });
  assert.equal(most, 3);
  assert.deepEqual(new Set(seen), new Set([1, 2, 3, 4, 5, 6, 7]));
  assert.equal(seen.length, 7);
});

test('after a failure no more is begun, and the source is closed', async () => {
  const begun: number[] = [];
  let isClosed = false;
  function* source(): Generator<number> {
    try {
      for (let item = 0; ; item++) yield item;
    } finally {
      isClosed = true;
    }
  }
  const work = (item: number): Promise<void> => {
    begun.push(item);
    return item === 4 ? Promise.reject(new Error('no')) : Promise.resolve();
  };
  await assert.rejects(eachBounded(source(), 2, work), { message: 'no' });
  assert.ok(begun.length < 8);
  assert.equal(isClosed, true);
});
