import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  authorizationScheme,
  parseAuthorization,
  parseSignedHeaders,
  signedHeaderSet,
  signsEnough,
  formatSigningDate,
  parseSigningDate,
  signingDateAt,
} from '../../../../src/protocol/tgv1/signing-headers.ts';

const signature = '557a51d1fffdcc50eec601c301c3428016fc6e76f672748f2545f2c3fc8be981';
const right = `TGV1-HMAC-SHA256 Credential=AK1/20261127/tgv1_request, SignedHeaders=a;b, Signature=${signature}`;

test('an Authorization header is split into its claim and its signature, each time alike', () => {
  const [text = ''] = right.split(signature);
  const claim = { text, accessKeyId: 'AK1', scopeDay: '20261127', signedHeaders: 'a;b', names: ['a', 'b'] };
  for (const given of [signature, signature, '0'.repeat(64)])
    assert.deepEqual(parseAuthorization(text + given), { claim, signature: given });
});

test('a signature in upper case has the form, so that it is a mismatch and not malformed', () => {
  const upper = right.replace(signature, signature.toUpperCase());

  assert.equal(parseAuthorization(upper)?.signature, signature.toUpperCase());
});

const malformedHeaders = [
  ['nothing after the scheme', 'TGV1-HMAC-SHA256'],
  ['two spaces after the scheme', right.replace(' ', '  ')],
  ['another word for the credential', right.replace('Credential', 'credential')],
  ['an empty access key id', right.replace('AK1', '')],
  ['an access key id with a space', right.replace('AK1', 'AK 1')],
  ['an access key id with a comma', right.replace('AK1', 'AK,1')],
  ['an access key id beyond ASCII', right.replace('AK1', 'AKé')],
  ['an access key id of 129 characters', right.replace('AK1', 'A'.repeat(129))],
  ['a scope day of seven digits', right.replace('20261127', '2026112')],
  ['a scope day of nine digits', right.replace('20261127', '202611270')],
  ['a scope day with a letter', right.replace('20261127', '2026112x')],
  ['another end of the scope', right.replace('tgv1_request', 'tgv2_request')],
  ['no space after a comma', right.replace(', Signed', ',Signed')],
  [
    'the parts in another order',
    right.replace(/SignedHeaders=a;b, (Signature=\w+)/, '$1, SignedHeaders=a;b'),
  ],
  ['a signature of 63 digits', right.slice(0, -1)],
  ['a signature of 65 digits', `${right}0`],
  ['a signature with a letter beyond f', `${right.slice(0, -1)}g`],
  ['no signature', right.replace(/, Signature=.*/, '')],
  ['something after the signature', `${right} `],
  ['something before the scheme', ` ${right}`],
  ['a header of more than 4096 characters', right.replace('a;b', 'a'.repeat(4096))],
  ['words that overlap', `TGV1-HMAC-SHA256 Credential=AK1/${signature}`],
] as const;

for (const [what, header] of malformedHeaders) {
  test(`an Authorization header with ${what} is malformed`, () => {
    assert.equal(parseAuthorization(header), null);
  });
}

test('an access key id of 128 characters is accepted', () => {
  assert.equal(parseAuthorization(right.replace('AK1', 'A'.repeat(128)))?.claim.accessKeyId, 'A'.repeat(128));
});

test('the scheme is the first word, whatever follows', () => {
  assert.equal(authorizationScheme(right), 'TGV1-HMAC-SHA256');
  assert.equal(authorizationScheme('Bearer token'), 'Bearer');
  assert.equal(authorizationScheme('Basic'), 'Basic');
});

for (const method of ['GET', 'POST'])
  for (const set of ['long', 'short'] as const) {
    test(`the ${set} set of a ${method} is a sorted list that signs enough`, () => {
      const names = signedHeaderSet(set, method);

      assert.deepEqual(parseSignedHeaders(names.join(';')), names);
      assert.deepEqual(names, [...names].sort());
      assert.ok(signsEnough(names, method));
    });
  }

test('a list with a further header is parsed', () => {
  assert.deepEqual(parseSignedHeaders('x-request-id;x-tg-app-id;x-tg-date'), [
    'x-request-id',
    'x-tg-app-id',
    'x-tg-date',
  ]);
});

const malformedLists = [
  ['unsorted', 'x-tg-date;x-tg-app-id'],
  ['repeated', 'x-tg-app-id;x-tg-app-id;x-tg-date'],
  ['in upper case', 'X-Tg-App-Id;x-tg-date'],
  ['empty', ''],
  ['empty at its end', 'x-tg-app-id;x-tg-date;'],
  ['empty in its middle', 'x-tg-app-id;;x-tg-date'],
  ['separated by commas', 'x-tg-app-id,x-tg-date'],
  ['separated by more than a semicolon', 'x-tg-app-id; x-tg-date'],
] as const;

for (const [what, text] of malformedLists) {
  test(`a list that is ${what} is malformed`, () => {
    assert.equal(parseSignedHeaders(text), null);
  });
}

test('application and date are required of every method, the content type where there is a body', () => {
  assert.ok(signsEnough(['x-tg-app-id', 'x-tg-date'], 'GET'));
  assert.ok(!signsEnough(['x-tg-date'], 'GET'));
  assert.ok(!signsEnough(['x-tg-app-id'], 'GET'));
  for (const method of ['POST', 'PUT', 'PATCH']) {
    assert.ok(!signsEnough(['x-tg-app-id', 'x-tg-date'], method));
    assert.ok(signsEnough(['content-type', 'x-tg-app-id', 'x-tg-date'], method));
  }
});

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

test('a date is truncated to the second, not rounded', () => {
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
