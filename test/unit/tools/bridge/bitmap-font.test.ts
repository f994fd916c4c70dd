import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textBlocks, textSize } from '../../../../src/tools/bridge/bitmap-font.ts';

function drawn(text: string): string[] {
  const { width, height } = textSize(text);
  const rows = Array.from({ length: height }, () => Array.from({ length: width }, () => '.'));
  for (const { x, y } of textBlocks(text)) (rows[y] ?? [])[x] = '#';
  return rows.map((row) => row.join(''));
}

test('text is drawn in blocks, small letters as capitals, and an unknown character as a blank', () => {
  assert.deepEqual(drawn('1h'), ['.#..#.#', '##..#.#', '.#..###', '.#..#.#', '###.#.#']);
  assert.deepEqual(drawn('§'), ['...', '...', '...', '...', '...']);
  assert.deepEqual(textSize(''), { width: 0, height: 5 });
});
