/**
 * Messages of controllers mutated at random. The decoder agrees with a simple reference reader of the page, and never throws.
 * The canary is a decoder with a plausible fault, which the fuzzer has to catch. Source: signal-wire.md.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeControllerMessage,
  type ControllerMessage,
  type SignalPhase,
} from '../../src/protocol/signal/controller-message.ts';
import { chanceFrom } from '../support/seeded-random.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_120);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 6000);

function pick<Item>(random: () => number, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  assert(item !== undefined);
  return item;
}

type Decoder = (bytes: Buffer, isBinary: boolean, phase: SignalPhase) => ControllerMessage;

/** The reference reader: an independent implementation of the page. */
function expectedVerdict(bytes: Buffer, isBinary: boolean, phase: SignalPhase): string {
  const text = bytes.toString('utf8');
  if (isBinary || !Buffer.from(text, 'utf8').equals(bytes) || text.startsWith('\ufeff')) return 'invalid';
  const fields = parseObject(text);
  if (fields === null) return 'invalid';
  const { type } = fields;
  if (type === 'bye') return typeof fields['reason'] === 'string' ? 'bye' : 'invalid';
  if (phase === 'login') return type === 'login' ? expectedLogin(fields) : 'invalid';
  if (type === 'heartbeat') return 'heartbeat';
  if (type === 'ack') return typeof fields['id'] === 'string' ? `ack ${fields['id']}` : 'invalid';
  if (type === 'call_reject') return expectedRejection(fields);
  return type === 'wake_report' ? expectedReport(fields) : 'invalid';
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = Object.prototype.toString.call(value) === '[object Object]';
    return isObject && JSON.stringify(value).search(/\\ud[89a-f]/i) === -1
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function expectedLogin(fields: Record<string, unknown>): string {
  const { device_id: id, mac, media } = fields;
  if (typeof id !== 'string' || id === '' || Buffer.byteLength(id) > 255) return 'invalid';
  if (typeof mac !== 'string' || mac.length !== 64 || mac.replace(/[\da-f]/g, '') !== '') return 'invalid';
  if (!('media' in fields)) return `login ${id} ${mac} null`;
  if (Object.prototype.toString.call(media) !== '[object Object]') return 'invalid';
  const text = JSON.stringify(media);
  return Buffer.byteLength(text) > 2048 ? 'invalid' : `login ${id} ${mac} ${text}`;
}

function expectedReport(fields: Record<string, unknown>): string {
  const { cause, request_id: id } = fields;
  if (cause !== 'remote' && cause !== 'event' && cause !== 'abnormal') return 'invalid';
  if (!('request_id' in fields)) return `report ${cause} null`;
  if (typeof id !== 'string' || id.length < 1 || id.length > 128) return 'invalid';
  return id.split('').every((char) => char >= ' ' && char <= '~') ? `report ${cause} ${id}` : 'invalid';
}

function expectedRejection({ session, reason }: Record<string, unknown>): string {
  if (reason !== 'rejected' && reason !== 'busy') return 'invalid';
  if (typeof session !== 'string' || session.length < 1 || session.length > 128) return 'invalid';
  const isWord = session.split('').every((char) => char > ' ' && char <= '~');
  return isWord ? `reject ${session} ${reason}` : 'invalid';
}

function verdictOf(message: ControllerMessage): string {
  switch (message.kind) {
    case 'login': {
      const { deviceId, mac, media } = message.login;
      return `login ${deviceId} ${Buffer.from(mac).toString('hex')} ${JSON.stringify(media)}`;
    }
    case 'wake-report':
      return `report ${message.report.cause} ${message.report.requestId}`;
    case 'call-reject':
      return `reject ${message.rejection.sessionId} ${message.rejection.reason}`;
    case 'ack':
      return `ack ${message.id}`;
    case 'heartbeat':
    case 'bye':
    case 'invalid':
      return message.kind;
  }
}

const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1.5,
  '',
  [],
  {},
  ['remote'],
  { type: 'heartbeat' },
  'x'.repeat(300),
];

function fieldsOf(random: () => number): Record<string, unknown> {
  const id = pick(random, [
    'a',
    'TESTDEVICE01',
    'gerät',
    '睡眠',
    '😀',
    'a'.repeat(255),
    'ä'.repeat(128),
    '\ufeffx',
  ]);
  const mac = Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16)).join('');
  const media = { video: ['h264'], note: 'ä'.repeat(Math.floor(random() * 1100)) };
  const withMedia = random() < 0.5 ? { media } : {};
  const withId =
    random() < 0.5 ? { request_id: pick(random, ['r-1', '~'.repeat(128), '~'.repeat(129), 'ä']) } : {};
  return pick<Record<string, unknown>>(random, [
    { type: 'login', device_id: id, mac, ...withMedia },
    { type: 'heartbeat' },
    { type: 'wake_report', cause: pick(random, ['remote', 'event', 'abnormal', 'other']), ...withId },
    { type: 'call_reject', session: id, reason: pick(random, ['rejected', 'busy', 'cancelled']) },
    { type: 'ack', id },
    { type: 'bye', reason: id },
    { type: 'hello' },
  ]);
}

type Breakage = (text: string, at: number, random: () => number) => string;
const breakages: readonly Breakage[] = [
  (text) => text,
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at, random) =>
    text.slice(0, at) + pick(random, ['"', '{', '}', '[', ',', ':', ' ', '\n', '\\']) + text.slice(at),
  (text, at, random) =>
    text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at + 1),
  (text, at) => text.slice(0, at),
  (text, at) => text.slice(0, at) + text.slice(at).toUpperCase(),
  (text) => text.replace('"type"', '"type":"bye","type"'),
  (text) => text.replace(/"type":("\w+")/, '"type":"ack","x":{"type":0},"type":$1'),
  (text) => text.replace(/"(\w)/, '"\\u00$1'),
  (text) => text.replace('}', ',"x":"\\ud800"}'),
  (text) => text.replace('}', ',"x":"\\ud83d\\ude00"}'),
  (text) => `\ufeff${text}`,
  (text) => ` ${text}\r\n`,
  (text) => `[${text}]`,
];

function brokenMessage(random: () => number): Buffer {
  const fields = fieldsOf(random);
  const keys = Object.keys(fields);
  if (random() < 0.2) fields[pick(random, keys)] = pick(random, strange);
  if (random() < 0.1) delete fields[pick(random, keys)];
  let text = JSON.stringify(fields);
  for (let i = Math.floor(random() * 3); i > 0; i--)
    text = pick(random, breakages)(text, Math.floor(random() * text.length), random);
  // Sometimes encoded in latin1, so that it may be invalid UTF-8.
  return Buffer.from(text, random() < 0.9 ? 'utf8' : 'latin1');
}

/** Null: every round agreed; else the first that did not. */
function fuzz(decode: Decoder): string | null {
  const random = chanceFrom(seed).next;
  for (let round = 0; round < rounds; round++) {
    const bytes = brokenMessage(random);
    const isBinary = random() < 0.03;
    const phase = pick(random, ['login', 'session'] as const);
    const expected = expectedVerdict(bytes, isBinary, phase);
    const verdict = verdictOf(decode(bytes, isBinary, phase));
    if (verdict !== expected)
      return `seed ${seed}, round ${round}: ${verdict} instead of ${expected} for ${bytes.toString()}`;
  }
  return null;
}

test('every mutated message is read as the page says', () => {
  assert.equal(fuzz(decodeControllerMessage), null);
});

test('the fuzzer makes every kind of message, broken and whole', () => {
  const seen = new Set<string>();
  const decode: Decoder = (bytes, isBinary, phase) => {
    const message = decodeControllerMessage(bytes, isBinary, phase);
    seen.add(message.kind);
    return message;
  };
  fuzz(decode);
  assert.deepEqual([...seen].sort(), [
    'ack',
    'bye',
    'call-reject',
    'heartbeat',
    'invalid',
    'login',
    'wake-report',
  ]);
});

test('the fuzzer catches a decoder that counts characters instead of bytes', () => {
  const counting: Decoder = (bytes, isBinary, phase) => {
    const message = decodeControllerMessage(bytes, isBinary, phase);
    const { media = '', ...fields } = (parseObject(bytes.toString()) ?? {}) as { media?: object };
    const isLong = message.kind === 'invalid' && JSON.stringify(media).length <= 2048;
    return isLong ? decodeControllerMessage(Buffer.from(JSON.stringify(fields)), isBinary, phase) : message;
  };
  assert.notEqual(fuzz(counting), null);
});
