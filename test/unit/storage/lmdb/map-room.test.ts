import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkMapRoom, MapFullError } from '../../../../src/storage/lmdb/map-room.ts';
import { mapGrowthBytesMax } from '../../../../src/storage/lmdb/store-limits.ts';

const mebibyte = 2 ** 20;
const mapBytes = 1024 * mebibyte;

test('a map that cannot grow is refused only when the file nears its end', () => {
  const wanted = 2 * mapBytes + mapGrowthBytesMax;
  const near = mapBytes - mapGrowthBytesMax;
  assert.throws(() => checkMapRoom({ mapBytes, usedBytes: near }, () => wanted - 1), {
    name: MapFullError.name,
    message:
      "the store's memory map is full: it would grow from 1024 MiB to 2048 MiB, and a limit leaves 2303 MiB of the address space",
  });
  checkMapRoom({ mapBytes, usedBytes: near }, () => wanted);
  checkMapRoom({ mapBytes, usedBytes: near }, () => Infinity);
  checkMapRoom({ mapBytes, usedBytes: near - 1 }, () => assert.fail('the limit is read without need'));
});

test('a large transaction needs room for the next map at any point', () => {
  assert.throws(() => checkMapRoom({ mapBytes, usedBytes: null }, () => mapBytes), MapFullError);
});
