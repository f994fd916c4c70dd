/** Compares the pages with benchmark figures to the stored results and to their own arithmetic. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madePages, makePage, pagePath } from '../../bench/page.ts';
import { readFromRoot } from '../support/checkout.ts';

for (const page of madePages)
  test(`${page} is generated from the results of the benchmarks`, async () => {
    assert.equal(readFromRoot(page), await makePage(page), 'run npm run bench -- --page');
  });

/** Cells of the table between this mark and its end, without the header. */
function rowsOf(page: string, part: string): string[][] {
  const [, made = ''] = page.split(`<!-- made: ${part} -->`);
  const lines =
    made
      .split('<!-- end -->')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('|')) ?? [];
  return lines.slice(2).map((line) => {
    const cells = line.split('|').slice(1, -1);
    return cells.map((cell) => cell.trim());
  });
}

/** The first number in the cell, without sign and commas. */
function shownIn(cell: string): string {
  return /-?[\d,]+(?:\.\d+)?/.exec(cell)?.[0].replaceAll(',', '') ?? '';
}

function numberIn(cell: string): number {
  return Number(shownIn(cell) || NaN);
}

function digitsIn(cell: string): number {
  return /\.(\d+)/.exec(cell)?.[1]?.length ?? 0;
}

/** Target rows whose comparison or outcome does not follow from the other cells. */
function wrongTargets(rows: readonly string[][]): string[] {
  return rows
    .filter(([, ours = '', peer = '', compared = '', , target = '', outcome = '']) => {
      const [own, other] = [numberIn(ours), numberIn(peer)];
      const isDifference = /^[+-]/.test(compared);
      const expected = peer === '' ? own : isDifference ? own - other : own / other;
      if ((peer === '') !== (compared === '')) return true;
      if (peer !== '' && expected.toFixed(digitsIn(compared)) !== shownIn(compared)) return true;
      if (target === '') return outcome !== '';
      const isMet = target.startsWith('≤') ? expected <= numberIn(target) : expected >= numberIn(target);
      return outcome !== (isMet ? 'met' : '**missed**');
    })
    .map(([what = '']) => what);
}

const targets = rowsOf(readFromRoot(pagePath), 'targets');

test('each ratio and each outcome of the targets follows from the other cells of its row', () => {
  assert.ok(targets.length > 40, `${targets.length} rows`);
  assert.deepEqual(wrongTargets(targets), []);
});

test('the check sees a ratio, a difference and an outcome that are wrong', () => {
  const wrong = [
    ['ratio', '36,686/s', '27,587/s', '1.83', '', '≥ 0.9', 'met'],
    ['difference', '0.439 ms', '0.281 ms', '+0.2 ms', '', '≤ 0.3', 'met'],
    ['outcome', '3 µs', '2 µs', '1.50', '', '≤ 1.2', 'met'],
    ['no peer', '1.67 s', '', '', '', '≤ 1', 'met'],
  ];
  assert.deepEqual(wrongTargets(wrong), ['ratio', 'outcome', 'no peer']);
});

test('the counts in the text equal those of the outcomes', () => {
  const outcomes = targets.map((row) => row.at(-1)).filter((outcome) => outcome !== '');
  const met = outcomes.filter((outcome) => outcome === 'met').length;
  assert.ok(readFromRoot(pagePath).includes(`\n${met} of ${outcomes.length} targets are met.\n`));
});

/** The whole to divide by the size, by unit of the size. */
const wholes: Readonly<Record<string, number>> = { 'B each': 1e9, 'µs each': 1e6, 'of a core each': 1 };

test('each count of the key figures is the quotient by the size in brackets after it', () => {
  const text = rowsOf(readFromRoot(pagePath), 'key-figures').flat().join('\n');
  const counts = Array.from(
    text.matchAll(/([\d,]+) \(([\d.,]+) ([^)]+)\)/g),
    ([, count, size, unit = '']) => ({
      count: numberIn(count ?? ''),
      expected: Math.floor((wholes[unit] ?? NaN) / numberIn(size ?? '')),
    }),
  );
  assert.ok(counts.length >= 6, `${counts.length} counts`);
  for (const { count, expected } of counts) assert.equal(count, expected);
});
