import { test } from 'node:test';
import assert from 'node:assert/strict';
import { InvalidArgumentError } from 'commander';
import {
  counted,
  formatMoment,
  parseMoment,
  parseSpan,
  wholeNumberOption,
  ageInWords,
  momentInWords,
} from '../../../../src/cli/shell/option-values.ts';

test('a moment is Unix seconds or ISO 8601', () => {
  assert.equal(parseMoment('1795163400'), 1_795_163_400);
  assert.equal(parseMoment('2026-11-20T08:30:00Z'), 1_795_163_400);
  assert.equal(parseMoment('2026-11-20'), Date.UTC(2026, 10, 20) / 1000);
  for (const wrong of ['', 'tomorrow', '-1', '2026-13-01', '1.5'])
    assert.throws(() => parseMoment(wrong), InvalidArgumentError, wrong);
});

test('a moment after the year 9999 is refused as probable milliseconds', () => {
  assert.equal(parseMoment('253402300799'), 253_402_300_799);
  assert.equal(parseMoment('9999-12-31T23:59:59Z'), 253_402_300_799);
  for (const wrong of ['253402300800', '1795163400000', '9999-12-31T23:59:59-01:00'])
    assert.throws(() => parseMoment(wrong), /year 9999; are these milliseconds/, wrong);
});

test('a moment is shown in UTC, and null by its word', () => {
  assert.equal(formatMoment(1_795_163_400, 'never'), '2026-11-20T08:30:00Z');
  assert.equal(formatMoment(null, 'never'), 'never');
});

test('one is singular, any other number plural', () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => counted(count, 'device')),
    ['0 devices', '1 device', '2 devices'],
  );
  assert.equal(counted(2, 'entry', 'entries'), '2 entries');
});

test('a span has a unit, or is in seconds', () => {
  assert.deepEqual(['90', '90s', '30m', '24h', '7d'].map(parseSpan), [90, 90, 1800, 86_400, 604_800]);
  for (const wrong of ['', 'h', '1w', '-1', '1.5h'])
    assert.throws(() => parseSpan(wrong), InvalidArgumentError, wrong);
});

test('an integer stays within its bounds', () => {
  const parse = wholeNumberOption(5, 3600);
  assert.deepEqual(['5', '3600'].map(parse), [5, 3600]);
  for (const wrong of ['4', '3601', '', '5.0', '1e2', '-5', ' 5'])
    assert.throws(() => parse(wrong), InvalidArgumentError, wrong);
});

const nowMs = Date.UTC(2026, 10, 20, 8, 30, 0);
const minute = 60_000;
const hour = 60 * minute;

test('an age is shown in its largest unit, rounded down', () => {
  const words: [ageMs: number, said: string][] = [
    [0, 'just now'],
    [999, 'just now'],
    [1000, '1 second ago'],
    [59_999, '59 seconds ago'],
    [minute, '1 minute ago'],
    [3 * minute + 59_999, '3 minutes ago'],
    [hour - 1, '59 minutes ago'],
    [hour, '1 hour ago'],
    [48 * hour - 1, '47 hours ago'],
    [48 * hour, '2 days ago'],
    [400 * 24 * hour, '400 days ago'],
  ];
  for (const [ageMs, said] of words) assert.equal(ageInWords(nowMs - ageMs, nowMs), said);
});

test('an observation in the future means that a clock was stepped', () => {
  assert.equal(ageInWords(nowMs + 5000, nowMs), 'in 5 s (clock stepped?)');
  assert.equal(ageInWords(nowMs + 61 * minute, nowMs), 'in 1 h (clock stepped?)');
  assert.equal(ageInWords(nowMs + 3 * minute, nowMs), 'in 3 min (clock stepped?)');
  assert.equal(ageInWords(nowMs + 50 * hour, nowMs), 'in 2 d (clock stepped?)');
  assert.equal(
    ageInWords(nowMs + 999, nowMs),
    'just now',
    'whole seconds and milliseconds may differ by that',
  );
});

test('a moment that may lie in the future blames no clock', () => {
  assert.equal(momentInWords(nowMs + 50 * hour, nowMs), 'in 2 days');
  assert.equal(momentInWords(nowMs - 50 * hour, nowMs), '2 days ago');
});

test('a span below a second is zero', () => {
  assert.equal(momentInWords(nowMs + 400, nowMs), 'in 0 seconds');
});
