import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  parseSignedHeaders,
  signedHeaderSet,
  signsEnough,
} from '../../../../src/protocol/tgv1/signed-headers.ts';

for (const method of ['GET', 'POST'])
  for (const set of ['long', 'short'] as const) {
    test(`the ${set} set of a ${method} is a sorted list that signs enough`, () => {
      const names = signedHeaderSet(set, method);

      assert.deepEqual(parseSignedHeaders(names.join(';')), names);
      assert.deepEqual(names, [...names].sort());
      assert.ok(signsEnough(names, method));
    });
  }

test('a list with a further header is taken apart', () => {
  assert.deepEqual(parseSignedHeaders('x-request-id;x-tg-app-id;x-tg-date'), [
    'x-request-id',
    'x-tg-app-id',
    'x-tg-date',
  ]);
});

const malformed = [
  ['unsorted', 'x-tg-date;x-tg-app-id'],
  ['repeated', 'x-tg-app-id;x-tg-app-id;x-tg-date'],
  ['in upper case', 'X-Tg-App-Id;x-tg-date'],
  ['empty', ''],
  ['empty at its end', 'x-tg-app-id;x-tg-date;'],
  ['empty in its middle', 'x-tg-app-id;;x-tg-date'],
  ['separated by commas', 'x-tg-app-id,x-tg-date'],
  ['separated by more than a semicolon', 'x-tg-app-id; x-tg-date'],
] as const;

for (const [what, text] of malformed) {
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
