/**
 * The query of GET /v1/events against an independent formulation of its rules, over queries built and mutated at random from a
 * seed. The canary is a faulty decoder, which the fuzzer has to catch.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeEventsQuery, type EventsQuery } from '../../src/protocol/rest/events.ts';
import { encodeCursor } from '../support/event-cursors.ts';
import { chanceFrom } from '../support/seeded-random.ts';

type Decode = typeof decodeEventsQuery;

const seed = 0x6576_6e74;
const rounds = 20_000;

const afters = [encodeCursor(0), encodeCursor(17), encodeCursor(2 ** 40), 'latest', '', 'AgAAAAAAAAAR', '17'];
const limits = ['1', '100', '1000', '1001', '0', '', '-1', '1e2', '٣', '07'];
const waits = ['0', '30', '30.001', '2.5', '0.001', '0.0001', '31', '', '.5', '5.', 'NaN'];
const pieces = [
  '&',
  '=',
  '%',
  '%41',
  '%ff',
  '+',
  'after',
  'limit=5',
  '&wait=1',
  '0',
  '9',
  '.',
  '-',
  '_',
  'A',
  '\ufffd',
];

function randomQuery(random: () => number): string {
  const pick = (from: readonly string[]): string => from[Math.floor(random() * from.length)] ?? '';
  const parts = [
    ...(random() < 0.7 ? [`after=${pick(afters)}`] : []),
    ...(random() < 0.7 ? [`limit=${pick(limits)}`] : []),
    ...(random() < 0.7 ? [`wait=${pick(waits)}`] : []),
    ...(random() < 0.1 ? [pick(pieces)] : []),
  ];
  const query = parts.sort(() => random() - 0.5).join('&');
  if (random() < 0.6) return query;
  const at = Math.floor(random() * (query.length + 1));
  return query.slice(0, at) + pick(pieces) + query.slice(at + Math.floor(random() * 3));
}

const keys = ['after', 'limit', 'wait'];
/** A key with one character changed, dropped or added, or two of them swapped, in any case. */
const nearly = new RegExp(`^(?:${keys.flatMap(oneEdit).join('|')})$`, 'is');

function oneEdit(key: string): string[] {
  return Array.from({ length: key.length + 1 }, (_, at) => {
    const [here, next] = [key.charAt(at), key.charAt(at + 1)];
    return `${key.slice(0, at)}(?:.?${next}|.${here}${next}|${next}${here})${key.slice(at + 2)}`;
  });
}

/** Null: refused. Decodes with the platform's own functions, number by number. */
function expected(query: string): EventsQuery | null {
  const values = new Map<string, string>();
  for (const part of query.split('&').filter((each) => each !== '')) {
    const [key = '', ...rest] = part.split('=');
    if (part.includes('\ufffd')) return null;
    try {
      const name = decodeURIComponent(key.replaceAll('+', ' '));
      if (values.has(name)) return null;
      values.set(name, decodeURIComponent(rest.join('=').replaceAll('+', ' ')));
    } catch {
      return null;
    }
  }
  if (Array.from(values.keys()).some((name) => !keys.includes(name) && nearly.test(name))) return null;
  const start = expectedStart(values.get('after'));
  const limit = Number(onlyDigits(values.get('limit') ?? '100', 4));
  const seconds = values.get('wait') ?? '0';
  const [whole = '', fraction, ...more] = seconds.split('.');
  const isDecimal =
    onlyDigits(whole, 2) !== null &&
    (fraction === undefined || onlyDigits(fraction, 3) !== null) &&
    more.length === 0;
  if (start === null || limit < 1 || limit > 1000 || !isDecimal) return null;
  const waitMs = Number(whole) * 1000 + Number((fraction ?? '').padEnd(3, '0'));
  return waitMs <= 30_000 ? { start, limit, waitMs } : null;
}

function expectedStart(after: string | undefined): EventsQuery['start'] | null {
  if (after === undefined) return 'oldest';
  if (after === 'latest') return after;
  const bytes = Buffer.from(after, 'base64url');
  const sequence = bytes.length === 9 && bytes[0] === 1 ? Number(`0x${bytes.toString('hex', 1)}`) : -1;
  return sequence >= 0 && Number.isSafeInteger(sequence) && encodeCursor(sequence) === after
    ? sequence
    : null;
}

function onlyDigits(text: string, charactersMax: number): string | null {
  const fits = text.length >= 1 && text.length <= charactersMax;
  return fits && Array.from(text).every((each) => '0123456789'.includes(each)) ? text : null;
}

/** Counts decoded and refused queries; throws at the first on which decoder and rules differ. */
function fuzz(decode: Decode): { read: number; refused: number } {
  const random = chanceFrom(seed).next;
  let read = 0;
  for (let round = 0; round < rounds; round++) {
    const query = randomQuery(random);
    const decoded = decode(query);
    assert.deepEqual(decoded.ok ? decoded.value : null, expected(query), query);
    if (decoded.ok) read += 1;
  }
  return { read, refused: rounds - read };
}

test('the decoder accepts exactly the queries of the rules', () => {
  const { read, refused } = fuzz(decodeEventsQuery);
  assert.ok(read > rounds / 20, `only ${read} were read`);
  assert.ok(refused > rounds / 20, `only ${refused} were refused`);
});

test('the fuzzer catches a decoder that rounds a wait with too many decimals', () => {
  const rounding: Decode = (query) => decodeEventsQuery(query.replace('wait=0.0001', 'wait=0'));
  assert.throws(() => fuzz(rounding), assert.AssertionError);
});
