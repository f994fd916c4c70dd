/**
 * Login lines broken at random and cut at random. Whatever comes, the decoder answers like a slow reader that
 * looks at the whole line at once, whichever way the bytes were cut. The canaries are decoders with a fault a
 * person might make; a fuzzer that lets one of them through is not looking.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoginLineDecoder, type LoginLineStep } from '../../src/protocol/sleep/login-line.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_120);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 4000);

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Verdict = string;
interface Decoder {
  feed(chunk: Buffer): LoginLineStep;
}

/** The slow reader: another reading of the same page, line by line of its table. */
function expectedVerdict(bytes: Buffer): Verdict {
  const text = bytes.toString('latin1');
  const lineEnd = text.indexOf('\n');
  const isLong = lineEnd === -1 ? bytes.length > 1024 : lineEnd > 1024;
  if (!isLong && lineEnd === -1) return 'incomplete';
  const line = isLong ? text.slice(0, 1024) : text.slice(0, lineEnd).replace(/\r$/, '');
  const fields = line.split(' ');
  const canReadReply = isLong ? fields.length > 5 : fields.length > 4;
  if (!isLong && isGood(fields)) return `login ${fields.join(' ')} rest ${text.slice(lineEnd + 1)}`;
  return `invalid ${canReadReply && fields[4] === '1'}`;
}

function isGood(fields: readonly string[]): boolean {
  const [version, id = '', wake = '', heartbeat = '', reply = '', mac = ''] = fields;
  if (fields.length !== 6 || version !== 'RVL1' || !['fixed', 'custom', 'none'].includes(wake)) return false;
  const seconds = Number.parseInt(heartbeat, 10);
  if (String(seconds) !== heartbeat || seconds < 5 || seconds > 3600) return false;
  if ((reply !== '0' && reply !== '1') || mac.length !== 64) return false;
  if (mac.split('').some((digit) => !'0123456789abcdef'.includes(digit))) return false;
  const bytes = Buffer.from(id, 'base64url');
  const isCanonical =
    bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '') === id;
  return (
    isCanonical &&
    bytes.length >= 1 &&
    bytes.length <= 255 &&
    Buffer.from(bytes.toString('utf8'), 'utf8').equals(bytes)
  );
}

function verdictOf(step: LoginLineStep): Verdict {
  if (step.kind === 'incomplete') return 'incomplete';
  if (step.kind === 'invalid') return `invalid ${step.wantsReply}`;
  const { login, rest } = step;
  const id = Buffer.from(login.deviceId, 'utf8').toString('base64url');
  const fields = `RVL1 ${id} ${login.wakeMode} ${login.heartbeatSeconds} ${login.wantsReply ? 1 : 0}`;
  assert.equal(login.signedText, fields);
  return `login ${fields} ${Buffer.from(login.mac).toString('hex')} rest ${rest.toString('latin1')}`;
}

function pick<Item>(random: () => number, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  assert(item !== undefined);
  return item;
}

function randomHex(random: () => number, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
}

function goodLine(random: () => number): string {
  const ids = ['a', 'TESTDEVICE01', 'gerät', '睡眠', '😀', 'a'.repeat(255), '\ufeffx'];
  const id = Buffer.from(pick(random, ids), 'utf8').toString('base64url');
  const heartbeat = pick(random, [5, 15, 50, 3600]);
  const end = pick(random, ['\n', '\r\n', '\nheartbeat', '\n\n']);
  return `RVL1 ${id} ${pick(random, ['fixed', 'custom', 'none'])} ${heartbeat} ${pick(random, [0, 1])} ${randomHex(random, 64)}${end}`;
}

type Breakage = (line: string, at: number, random: () => number) => string;
const breakages: readonly Breakage[] = [
  (line) => line,
  (line, at) => line.slice(0, at) + line.slice(at + 1),
  (line, at, random) =>
    line.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + line.slice(at + 1),
  (line, at, random) =>
    line.slice(0, at) + pick(random, [' ', '0', '\n', '\r', '=', '_', 'é', '\0']) + line.slice(at),
  (line, at, random) => line.slice(0, at) + 'x'.repeat(Math.floor(random() * 2000)) + line.slice(at),
  (line, at) => line.slice(0, at),
  (line, at) => line.slice(0, at) + line.slice(at).toUpperCase(),
  (line) => line.replace(/ (\d+) ([01])/, ' 0$1 $2'),
  (line) => line.replace(/^RVL1 (\S+)\S /, 'RVL1 $1 '),
];

function brokenLine(random: () => number): Buffer {
  let line = goodLine(random);
  for (let i = Math.floor(random() * 3); i > 0; i--)
    line = pick(random, breakages)(line, Math.floor(random() * line.length), random);
  return Buffer.from(line, 'latin1');
}

function decode(decoder: Decoder, bytes: Buffer, random: () => number): Verdict {
  let verdict: Verdict = 'incomplete';
  let at = 0;
  while (at < bytes.length && verdict === 'incomplete') {
    const size = pick(random, [1, 7, 64, 500, 5000]);
    verdict = verdictOf(decoder.feed(bytes.subarray(at, at + size)));
    at += size;
  }
  // What had not been fed when the line was over belongs to the rest.
  return verdict.startsWith('login') ? verdict + bytes.subarray(at).toString('latin1') : verdict;
}

/** Null when every round agreed; else the first that did not. */
function fuzz(makeDecoder: () => Decoder): string | null {
  const random = randomFrom(seed);
  for (let round = 0; round < rounds; round++) {
    const bytes = brokenLine(random);
    const expected = expectedVerdict(bytes);
    const verdict = decode(makeDecoder(), bytes, random);
    if (verdict !== expected) return `seed ${seed}, round ${round}: ${verdict} instead of ${expected}`;
  }
  return null;
}

test('no broken line is read otherwise than the page says, and no cut changes it', () => {
  assert.equal(
    fuzz(() => new LoginLineDecoder()),
    null,
  );
});

/** Each gives the real decoder something else than came. */
const canaries: readonly [string, (chunk: Buffer) => Buffer][] = [
  [
    'takes a mac in capitals',
    (chunk) =>
      Buffer.from(
        chunk.toString('latin1').replace(/[A-F\d]{40,}/, (mac) => mac.toLowerCase()),
        'latin1',
      ),
  ],
  [
    'skips a leading zero',
    (chunk) => Buffer.from(chunk.toString('latin1').replace(/ 0(\d+) /, ' $1 '), 'latin1'),
  ],
  ['loses a byte of a long chunk', (chunk) => (chunk.length > 400 ? chunk.subarray(1) : chunk)],
  ['takes CR for LF', (chunk) => Buffer.from(chunk.toString('latin1').replaceAll('\r', '\n'), 'latin1')],
];
for (const [fault, distort] of canaries)
  test(`the fuzzer finds a decoder that ${fault}`, () => {
    const verdict = fuzz(() => {
      const decoder = new LoginLineDecoder();
      return { feed: (chunk) => decoder.feed(distort(chunk)) };
    });
    assert.notEqual(verdict, null);
  });

test('the fuzzer finds a decoder that forgets what came before', () => {
  assert.notEqual(
    fuzz(() => ({ feed: (chunk) => new LoginLineDecoder().feed(chunk) })),
    null,
  );
});
