/** The maps of collections behave as a Map does, whatever comes and goes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RenewedMap } from '../../../../src/lib/collections/renewed-map.ts';
import { ShardedMap } from '../../../../src/lib/collections/sharded-map.ts';
import { chanceFrom } from '../../../support/seeded-random.ts';

const makers = [
  ['RenewedMap', () => new RenewedMap<string, number>()],
  ['ShardedMap', () => new ShardedMap<string, number>()],
] as const;

for (const [name, make] of makers)
  test(`a ${name} has the entries of a Map after any changes`, () => {
    const chance = chanceFrom(0x3a95);
    const [map, model] = [make(), new Map<string, number>()];
    for (let step = 0; step < 20_000; step += 1) {
      const key = ['', 'a', 'key-', 'ключ-'][chance.below(4)] + String(chance.below(300));
      if (chance.below(3) > 0) {
        map.set(key, step);
        model.set(key, step);
      } else assert.equal(map.delete(key), model.delete(key));
      assert.equal(map.size, model.size);
      assert.equal(map.get(key), model.get(key));
      assert.equal(map.has(key), model.has(key));
    }
  });

test('a RenewedMap keeps the order of its keys', () => {
  const map = new RenewedMap<number, string>();
  for (let key = 0; key < 1000; key += 1) {
    map.set(key, `${key}`);
    if (key >= 3) map.delete(key - 3);
  }
  assert.deepEqual([...map.keys()], [997, 998, 999]);
  assert.deepEqual(
    [...map],
    [
      [997, '997'],
      [998, '998'],
      [999, '999'],
    ],
  );
});

test('a ShardedMap has the empty key, and keys of one character', () => {
  const map = new ShardedMap<string, number>();
  for (const key of ['', 'a', 'b']) map.set(key, key.length);
  assert.deepEqual([map.size, map.get(''), map.get('a'), map.get('c')], [3, 0, 1, undefined]);
});
