import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestHeaders } from '../../../../src/gateways/api/request-headers.ts';

function headersOf(...fields: readonly (readonly [name: string, value: string])[]): RequestHeaders {
  const request = {
    forEach: (each: (name: string, value: string) => void): void => {
      for (const [name, value] of fields) each(name, value);
    },
  };
  return new RequestHeaders(request);
}

test('an empty header is present, and a missing one is not', () => {
  const headers = headersOf(['x-tg-date', ''], ['host', 'a']);

  assert.deepEqual(
    ['x-tg-date', 'host', 'x-tg-dat', 'a', ''].map((name) => headers.get(name)),
    ['', 'a', undefined, undefined, undefined],
  );
});

test('the last value of a repeated header counts', () => {
  assert.equal(headersOf(['accept', '1'], ['host', 'a'], ['accept', '2']).get('accept'), '2');
});

const marks = {
  authorization: [true, false, false],
  'content-type': [true, false, false],
  'x-tg-date': [true, false, false],
  'x-tg-anything': [true, false, false],
  'x-request-id': [false, true, false],
  'content-length': [false, false, true],
  host: [false, false, false],
};

for (const [name, expected] of Object.entries(marks))
  for (const [first, second] of [
    ['1', '2'],
    ['1', '1'],
    ['', '1'],
    ['1', ''],
  ] as const)
    test(`${name} with the values "${first}" and "${second}" is detected as repeated if that matters`, () => {
      const once = headersOf([name, first], ['accept', ''], ['via', '']);
      const twice = headersOf([name, first], ['accept', ''], [name, second]);

      assert.deepEqual([once.repeated, once.repeatsRequestId, once.repeatsLength], [false, false, false]);
      assert.deepEqual([twice.repeated, twice.repeatsRequestId, twice.repeatsLength], expected);
    });
