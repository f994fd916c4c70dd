import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import {
  formatMoment,
  parseMoment,
  parseSpan,
  wholeNumberOption,
} from '../../../../src/cli/shell/option-values.ts';

test('a moment is Unix seconds or ISO 8601', () => {
  assert.equal(parseMoment('1795163400'), 1_795_163_400);
  assert.equal(parseMoment('2026-11-20T08:30:00Z'), 1_795_163_400);
  assert.equal(parseMoment('2026-11-20'), Date.UTC(2026, 10, 20) / 1000);
  for (const wrong of ['', 'tomorrow', '-1', '2026-13-01', '1.5'])
    assert.throws(() => parseMoment(wrong), InvalidArgumentError, wrong);
});

test('a moment is shown in UTC, and none as what never means', () => {
  assert.equal(formatMoment(1_795_163_400, 'never'), '2026-11-20T08:30:00Z');
  assert.equal(formatMoment(null, 'never'), 'never');
});

test('a span has a unit, or is in seconds', () => {
  assert.deepEqual(['90', '90s', '30m', '24h', '7d'].map(parseSpan), [90, 90, 1800, 86_400, 604_800]);
  for (const wrong of ['', 'h', '1w', '-1', '1.5h'])
    assert.throws(() => parseSpan(wrong), InvalidArgumentError, wrong);
});

test('a whole number keeps its bounds', () => {
  const parse = wholeNumberOption(5, 3600);
  assert.deepEqual(['5', '3600'].map(parse), [5, 3600]);
  for (const wrong of ['4', '3601', '', '5.0', '1e2', '-5', ' 5'])
    assert.throws(() => parse(wrong), InvalidArgumentError, wrong);
});
