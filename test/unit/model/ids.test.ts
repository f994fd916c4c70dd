import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validate, version } from 'uuid';
import { generateEventId, generateRequestId } from '../../../src/model/ids.ts';

test('every id is a UUID of version 7 and unique, even across refills of the random pool', () => {
  const ids = Array.from({ length: 1000 }, () => generateRequestId());

  assert.ok(ids.every((id) => validate(id) && version(id) === 7));
  assert.equal(new Set(ids).size, ids.length);
});

test('the first twelve digits of an id are its time', () => {
  const id = generateEventId(0x0123_4567_89ab, 5);

  assert.ok(id.startsWith('01234567-89ab-7000-8000-'), id);
});

test('ids of events ascend with their positions in the log', () => {
  const ids = [0, 1, 2, 0xff, 0x1234, 0x7fff_ffff].map((sequence) =>
    generateEventId(1_790_000_000_000, sequence),
  );

  assert.deepEqual(ids.toSorted(), ids);
});
