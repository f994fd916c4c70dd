import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageInWords, momentInWords } from '../../../../src/cli/shell/ages-in-words.ts';

const nowMs = Date.UTC(2026, 10, 20, 8, 30, 0);
const minute = 60_000;
const hour = 60 * minute;

test('an age is told in its largest unit, cut and never rounded up', () => {
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

test('what was observed in the future tells of a clock that stepped', () => {
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

test('a moment that may lie ahead blames no clock', () => {
  assert.equal(momentInWords(nowMs + 50 * hour, nowMs), 'in 2 days');
  assert.equal(momentInWords(nowMs - 50 * hour, nowMs), '2 days ago');
});

test('a span below a second is none', () => {
  assert.equal(momentInWords(nowMs + 400, nowMs), 'in 0 seconds');
});
