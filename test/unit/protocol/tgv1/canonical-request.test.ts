import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canonicalPath,
  canonicalQuery,
  canonicalRequest,
} from '../../../../src/protocol/tgv1/canonical-request.ts';

const paths = [
  ['/v1/device/connectivity', '/v1/device/connectivity'],
  ['/v1/device/connectivity/', '/v1/device/connectivity'],
  ['/v1//', '/v1/'],
  ['/', '/'],
  ['//', '/'],
  ['', ''],
  ['  /v1/a/  ', '/v1/a'],
  ['/v1/a /', '/v1/a '],
  ['   ', ''],
  ['/v1/%2F', '/v1/%2F'],
  ['\t/v1', '\t/v1'],
] as const;

for (const [sent, canonical] of paths) {
  test(`the path ${JSON.stringify(sent)} is signed as ${JSON.stringify(canonical)}`, () => {
    assert.equal(canonicalPath(sent), canonical);
  });
}

test('the query of a GET is signed as sent, but for its pluses', () => {
  assert.equal(canonicalQuery('GET', 'z=1&a=b+c+d&%2b=%20'), 'z=1&a=b%20c%20d&%2b=%20');
  assert.equal(canonicalQuery('DELETE', 'a=1'), 'a=1');
});

test('the query of a method with a body is not signed', () => {
  for (const method of ['POST', 'PUT', 'PATCH']) assert.equal(canonicalQuery(method, 'a=1'), '');
});

test('a canonical request has an empty line for no query and none after the headers', () => {
  const text = canonicalRequest({
    method: 'GET',
    path: '/a',
    query: '',
    signedHeaders: 'x-empty;x-tg-date',
    names: ['x-empty', 'x-tg-date'],
    headers: new Map([
      ['x-tg-date', '20261120T083000Z'],
      ['x-empty', ''],
    ]),
    bodySha256: 'hash',
  });

  assert.equal(text, 'GET\n/a\n\nx-empty:\nx-tg-date:20261120T083000Z\nx-empty;x-tg-date\nhash');
});
