import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretMark } from '../../../../src/core/devices/secret-mark.ts';

test('a secret has one mark, a small integer, and no other of many has the same', () => {
  const secrets = Array.from({ length: 2000 }, (_, number) => `secret number ${number}`);
  const marks = secrets.map(secretMark);
  assert.deepEqual(secrets.map(secretMark), marks);
  assert.equal(new Set(marks).size, secrets.length);
  for (const mark of marks) assert.equal(mark, mark | 0);
});
