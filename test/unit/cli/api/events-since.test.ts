import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import { parseSince, startQuery } from '../../../../src/cli/api/events-since.ts';
import { encodeCursor } from '../../../../src/protocol/rest/events.ts';

const nowMs = 1_800_000_000_500;
const id = '01a2b3c4-0000-7000-8000-000000000003';

test('a span, a moment, an id and a cursor each become where to begin', () => {
  const cases: [text: string, query: readonly [string, string]][] = [
    ['10m', ['since', String(nowMs - 600_000)]],
    ['90', ['since', String(nowMs - 90_000)]],
    ['99999d', ['since', '0']],
    ['2027-01-31T12:00:00Z', ['since', String(Date.UTC(2027, 0, 31, 12))]],
    [id, ['since', id]],
    [id.toUpperCase(), ['since', id]],
    [encodeCursor(77), ['after', '77']],
  ];
  for (const [text, query] of cases) assert.deepEqual(startQuery(parseSince(text), nowMs), query, text);
});

test('anything else is a usage error that says what may be given', () => {
  for (const text of ['', 'yesterday', '10 m', '-5m', `${id}0`, 'AAAAAAAAAAAA'])
    assert.throws(() => parseSince(text), InvalidArgumentError, text);
});
