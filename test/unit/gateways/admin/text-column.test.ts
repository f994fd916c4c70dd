import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteFinder, findRow, partFinder, textAt } from '../../../../src/gateways/admin/text-column.ts';

function columnOf(texts: readonly string[]) {
  let length = 0;
  const ends = Uint32Array.from(texts, (text) => (length += Buffer.byteLength(text)));
  return { bytes: Buffer.from(texts.join('')), ends };
}

test('a part is found in each row that has it, and never across two rows', () => {
  const column = columnOf(['aab', 'a', '', 'ab', 'b', 'aaab', 'ba']);
  const find = partFinder(column, Buffer.from('ab'));
  assert.deepEqual(
    Array.from({ length: 8 }, (_, row) => find(row)),
    [0, 3, 3, 3, 5, 5, 7, 7],
  );
  assert.equal(partFinder(column, Buffer.from('bab'))(0), 7);
  assert.equal(textAt(column, 5), 'aaab');
});

test('all finders agree on the rows that a naive search finds', () => {
  const count = 500;
  const letters = Array.from({ length: count }, (_, n) => 'abc'.repeat(n % 4) + 'cba'.slice(n % 3) + (n % 7));
  const others = Array.from({ length: count }, (_, n) => `${n * n}`);
  const marks = Uint8Array.from(letters, (_, n) => Number(n % 5 > 0));
  const finders = [
    byteFinder(marks, 1),
    partFinder(columnOf(letters), Buffer.from('bc')),
    partFinder(columnOf(others), Buffer.from('4')),
  ];
  const found: number[] = [];
  for (let row = 0; (row = findRow(finders, count, row)) < count; row += 1) found.push(row);
  const wanted = letters.flatMap((text, n) =>
    marks[n] === 1 && text.includes('bc') && others[n]?.includes('4') === true ? [n] : [],
  );
  assert.ok(wanted.length > 20);
  assert.deepEqual(found, wanted);
  assert.equal(findRow([], count, 7), 7);
});
