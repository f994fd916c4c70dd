import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeCursor, encodeCursor } from '../../../../src/protocol/rest/cursor.ts';

/** Version and sequence put together by hand. */
function cursorOf(version: number, sequence: bigint): string {
  const bytes = Buffer.from([
    version,
    ...Array.from({ length: 8 }, (_, i) => Number((sequence >> BigInt(56 - 8 * i)) & 0xffn)),
  ]);
  return bytes.toString('base64url');
}

const sequences = [0, 1, 255, 256, 2 ** 31, 2 ** 32 + 7, 10_000_000, Number.MAX_SAFE_INTEGER];
for (const sequence of sequences) {
  test(`a cursor behind event ${sequence} is twelve characters and leads back there`, () => {
    const cursor = encodeCursor(sequence);
    assert.equal(cursor, cursorOf(1, BigInt(sequence)));
    assert.match(cursor, /^[A-Za-z0-9_-]{12}$/);
    assert.equal(decodeCursor(cursor), sequence);
  });
}

const malformed: [string, string][] = [
  ['empty', ''],
  ['a plain number', '17'],
  ['too short', encodeCursor(17).slice(1)],
  ['too long', `${encodeCursor(17)}A`],
  ['padded', `${encodeCursor(17)}=`],
  ['of the other base64', '+/+/+/+/+/+/'],
  ['with a line feed behind', `${encodeCursor(17)}\n`],
  ['with a space in it', `AQAAAAAA AAR`],
  ['of version 0', cursorOf(0, 17n)],
  ['of version 2', cursorOf(2, 17n)],
  ['beyond every sequence', cursorOf(1, 2n ** 53n)],
  ['as large as can be', cursorOf(1, 2n ** 64n - 1n)],
];
for (const [name, text] of malformed) {
  test(`a cursor that is ${name} is none`, () => {
    assert.equal(decodeCursor(text), null);
  });
}
