import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatSigningDate,
  parseSigningDate,
  signingDateAt,
} from '../../../../src/protocol/tgv1/signing-date.ts';

test('a date of the vectors gives its instant, its day, the scope day a week later and the head of the string to sign', () => {
  assert.deepEqual(parseSigningDate('20261120T083000Z'), {
    text: '20261120T083000Z',
    ms: Date.UTC(2026, 10, 20, 8, 30, 0),
    day: '20261120',
    scopeDay: '20261127',
    toSignPrefix: 'TGV1-HMAC-SHA256\n20261120T083000Z\n20261127/tgv1_request\n',
  });
});

test('the scope day crosses the end of a month, a year and a leap February', () => {
  assert.equal(parseSigningDate('20261228T000000Z')?.scopeDay, '20270104');
  assert.equal(parseSigningDate('20280225T235959Z')?.scopeDay, '20280303');
  assert.equal(parseSigningDate('20270225T235959Z')?.scopeDay, '20270304');
});

test('a date is cut to its second, not rounded', () => {
  const instantMs = Date.UTC(2026, 10, 20, 8, 30, 59, 999);

  assert.equal(formatSigningDate(instantMs), '20261120T083059Z');
  assert.equal(signingDateAt(instantMs).ms, Date.UTC(2026, 10, 20, 8, 30, 59));
});

test('a date signed is the date read', () => {
  const signing = signingDateAt(Date.UTC(2026, 1, 28, 23, 59, 59));

  assert.deepEqual(parseSigningDate(signing.text), signing);
});

const malformedDates = [
  ['an ISO date', '2026-11-20T08:30:00Z'],
  ['no zone', '20261120T083000'],
  ['a lower-case zone', '20261120T083000z'],
  ['fractions', '20261120T083000.000Z'],
  ['a space after', '20261120T083000Z '],
  ['month 13', '20261320T083000Z'],
  ['month 0', '20260020T083000Z'],
  ['30 February', '20260230T083000Z'],
  ['29 February of a common year', '20270229T083000Z'],
  ['day 0', '20261100T083000Z'],
  ['hour 24', '20261120T240000Z'],
  ['minute 60', '20261120T086000Z'],
  ['second 60', '20261120T235960Z'],
  ['digits of another script', '２0261120T083000Z'],
  ['a line feed after', '20261120T083000Z\n'],
] as const;

for (const [what, text] of malformedDates) {
  test(`${what} is no signing date`, () => {
    assert.equal(parseSigningDate(text), null);
  });
}

test('29 February of a leap year and the year 50 are dates of the calendar', () => {
  assert.equal(parseSigningDate('20280229T000000Z')?.ms, Date.UTC(2028, 1, 29));
  assert.equal(parseSigningDate('00500101T000000Z')?.day, '00500101');
});
