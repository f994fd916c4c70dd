import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { packPlain, unpackPlain } from '../../../src/lib/plain-msgpack.ts';

const packr = new Packr({ useRecords: false, moreTypes: true });

test('plain values survive encoding and decoding', () => {
  const value = {
    text: 'é\u{1f600}'.repeat(100),
    numbers: [0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 40)],
    bytes: Buffer.of(1, 2, 3),
    inner: [{ yes: true, no: false, none: null, empty: {} }],
  };
  assert.deepEqual(unpackPlain(packPlain(value)), value);
});

const hostile: Readonly<Record<string, Buffer>> = {
  nothing: Buffer.alloc(0),
  'a list that says it has four thousand million members': Buffer.of(0xdd, 0xff, 0xff, 0xff, 0xff),
  'a map that says so': Buffer.of(0xdf, 0xff, 0xff, 0xff, 0xff),
  'lists within lists': Buffer.alloc(100_000, 0x91),
  'lists of many lists': Buffer.alloc(100_000, 0x9f),
  'a regular expression': packr.pack(/(a+)+$/),
  'a set': packr.pack(new Set([1])),
  'a date': packr.pack(new Date(0)),
  'an undefined': packr.pack({ a: undefined }),
  'a text that is cut off': Buffer.of(0xd9, 0xff, 0x61),
  'a text without its length': Buffer.of(0xdb, 0x00),
  'a number that is cut off': Buffer.of(0xcf, 0x00),
  'two values': Buffer.of(0xc0, 0xc0),
  'a type that is none': Buffer.of(0xc1),
};

for (const [name, bytes] of Object.entries(hostile))
  test(`${name} is no plain value`, () => {
    assert.equal(unpackPlain(bytes), undefined);
  });
