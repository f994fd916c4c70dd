/**
 * The Authorization parser against a regular expression of its form, over headers mutated at random from a seed. The canary is a
 * faulty parser, which the fuzzer has to catch.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAuthorization } from '../../src/protocol/tgv1/signing-headers.ts';
import { chanceFrom } from '../support/seeded-random.ts';

interface Parsed {
  readonly accessKeyId: string;
  readonly scopeDay: string;
  readonly signedHeaders: string;
  readonly signature: string;
}

type Parse = (header: string) => Parsed | null;

const seed = 0x7467_7631;
const rounds = 20_000;

const form =
  /^TGV1-HMAC-SHA256 Credential=([!-+\-.0-~]{1,128})\/(\d{8})\/tgv1_request, SignedHeaders=(.*), Signature=([\da-fA-F]{64})$/s;

const seeds = [
  'TGV1-HMAC-SHA256 Credential=AKexample000000000001/20261127/tgv1_request, SignedHeaders=x-tg-app-id;x-tg-date, ' +
    'Signature=557a51d1fffdcc50eec601c301c3428016fc6e76f672748f2545f2c3fc8be981',
  'TGV1-HMAC-SHA256 Credential=A/20261127/tgv1_request, SignedHeaders=, Signature=' + 'F'.repeat(64),
  'TGV1-HMAC-SHA256 Credential=' +
    'K'.repeat(128) +
    '/20261127/tgv1_request, SignedHeaders=a, Signature=' +
    '0'.repeat(64),
];

/** Pieces that mutations insert: the words of the form, and characters next to the allowed ones. */
const pieces = [
  'TGV1-HMAC-SHA256',
  ' Credential=',
  '/20261127',
  '/tgv1_request',
  ', SignedHeaders=',
  ', Signature=',
  'K'.repeat(120),
  'x;'.repeat(2100),
  ' ',
  '/',
  ',',
  ';',
  '\n',
  '\0',
  '\t',
  'g',
  'F',
  '0',
  'é',
  '٣',
  '\u{1f600}',
];

function mutated(header: string, random: () => number): string {
  const below = (max: number): number => Math.floor(random() * max);
  const at = below(header.length + 1);
  const until = at + below(12);
  const piece = pieces[below(pieces.length)] ?? '';
  switch (below(5)) {
    case 0:
      return header.slice(0, at) + piece + header.slice(at);
    case 1:
      return header.slice(0, at) + header.slice(until);
    case 2:
      return header.slice(0, at) + piece + header.slice(until);
    case 3:
      return header.slice(0, at) + header.slice(at, until).toUpperCase() + header.slice(until);
    default:
      return header;
  }
}

function matchForm(header: string): Parsed | null {
  const match = form.exec(header);
  if (match === null) return null;
  const [, accessKeyId = '', scopeDay = '', signedHeaders = '', signature = ''] = match;
  return { accessKeyId, scopeDay, signedHeaders, signature };
}

function expected(header: string): Parsed | null {
  return header.length <= 4096 ? matchForm(header) : null;
}

function parse(header: string): Parsed | null {
  const authorization = parseAuthorization(header);
  if (authorization === null) return null;
  const { claim, signature } = authorization;
  const { accessKeyId, scopeDay, signedHeaders } = claim;
  return { accessKeyId, scopeDay, signedHeaders, signature };
}

/** Counts headers with and without the form; throws at the first on which parser and expression differ. */
function fuzz(parse: Parse): { formed: number; malformed: number } {
  const random = chanceFrom(seed).next;
  let formed = 0;
  for (let round = 0; round < rounds; round++) {
    let header = seeds[round % seeds.length] ?? '';
    for (let steps = Math.floor(random() * 4); steps > 0; steps--) header = mutated(header, random);
    const parsed = parse(header);
    assert.deepEqual(parsed, expected(header), JSON.stringify(header));
    if (parsed !== null) formed += 1;
  }
  return { formed, malformed: rounds - formed };
}

test('the parser accepts exactly the headers of the form', () => {
  const { formed, malformed } = fuzz(parse);

  assert.ok(formed > rounds / 10, `only ${formed} had the form`);
  assert.ok(malformed > rounds / 10, `only ${malformed} had not`);
});

test('the fuzzer catches a parser that caches claims by a part of their text', () => {
  const remembered = new Map<string, Parsed>();
  const remembering: Parse = (header) => {
    const start = header.slice(0, 30);
    const known = remembered.get(start) ?? parse(header);
    if (known !== null) remembered.set(start, known);
    return known;
  };
  assert.throws(() => fuzz(remembering), assert.AssertionError);
});
