/**
 * Messages of legs mutated at random, texts and frames. Each is decoded as by a simple reference reader of the page, an invalid
 * frame goes nowhere, and nothing throws. The canaries are readers and legs with plausible faults, which the fuzzer has to
 * catch. Source: calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateSessionId } from '../../src/model/ids.ts';
import { SocketLeg } from '../../src/media/legs/socket-leg.ts';
import { parseBridgeText, parseDeviceText } from '../../src/protocol/media/leg-text.ts';
import { decodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { callMedia } from '../support/call-scene.ts';
import { FakeOpenLeg } from '../support/fake-leg-service.ts';
import { FakeFrameSocket, FakeMediaListenerContext } from '../support/fake-media-listener-context.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 20_000);

const languages = ['device', 'bridge', 'frame'] as const;
type Language = (typeof languages)[number];
/** Describes the decoded message; `bad`: invalid, which the leg answers with a sentence. */
type Reader = (language: Language, bytes: Buffer) => string;

function pick<Item>(chance: Chance, items: readonly Item[]): Item {
  const item = items[chance.below(items.length)];
  assert(item !== undefined);
  return item;
}

const ours: Reader = (language, bytes) => {
  const heard =
    language === 'device'
      ? parseDeviceText(bytes)
      : language === 'bridge'
        ? parseBridgeText(bytes)
        : decodeFrameHeader(bytes);
  if (heard.ok) return JSON.stringify(heard.value);
  assert.match(heard.error, /^\S.{10,200}$/, 'a sentence');
  return 'bad';
};

/** The reference reader: an independent implementation of the page. */
const page: Reader = (language, bytes) => {
  if (language === 'frame') return pageFrame(bytes);
  const fields = pageObject(bytes);
  if (fields === null) return 'bad';
  return language === 'device' ? pageDevice(fields) : pageBridge(fields);
};

function pageObject(bytes: Buffer): Record<string, unknown> | null {
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes) || text.startsWith('\ufeff')) return null;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = Object.prototype.toString.call(value) === '[object Object]';
    const written = JSON.stringify(value).replaceAll('\\\\', '');
    return isObject && !/\\ud[89a-f]/i.test(written) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function end(reason: string): object {
  return { kind: 'end', reason };
}

function pageDevice(fields: Record<string, unknown>): string {
  if (fields['type'] === 'accept') return JSON.stringify({ kind: 'progress', state: 'attempting' });
  if (fields['type'] === 'reject') return JSON.stringify(end('rejected'));
  if (fields['type'] !== 'hangup') return 'bad';
  switch (fields['reason']) {
    case 5:
      return JSON.stringify(end('busy'));
    case 6:
      return JSON.stringify(end('timeout'));
    case 7:
      return JSON.stringify(end('rejected'));
    case 8:
      return JSON.stringify(end('error'));
    default:
      return JSON.stringify(end('hangup_device'));
  }
}

const pageReasons = /^(hangup_(device|phone)|rejected|busy|cancelled|timeout|error|lost|replaced)$/;

function pageBridge({ type, state, reason, session }: Record<string, unknown>): string {
  const named = session ?? null;
  const about = named === null || typeof named === 'string' ? named : '';
  if (type === 'accept' || type === 'refuse')
    return JSON.stringify({ kind: 'answer', accepted: type === 'accept' });
  if (type !== 'state' || typeof state !== 'string') return 'bad';
  if (/^(ringing|attempting|connected)$/.test(state))
    return JSON.stringify({ kind: 'report', report: { kind: 'progress', state }, about });
  if (state !== 'ended') return 'bad';
  const said = reason ?? 'hangup_phone';
  const known = typeof said === 'string' && pageReasons.test(said) ? said : 'error';
  return JSON.stringify({ kind: 'report', report: end(known), about });
}

function pageFrame(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const [, kind, format, flags, size, stamp] = /^(01|02)(0[1-4])(000[01])(.{8})(.{8})../.exec(hex) ?? [];
  if (kind === undefined || format === undefined || flags === undefined) return 'bad';
  const [width, height] = [parseInt(size?.slice(0, 4) ?? '', 16), parseInt(size?.slice(4) ?? '', 16)];
  const timestampMs = parseInt(stamp ?? '', 16);
  if (kind === '02') {
    if (width > 0 || height > 0) return 'bad';
    const name = { '01': 'alaw', '02': 'amr', '03': 'opus', '04': 'pcm' }[format];
    return JSON.stringify({ kind: 'audio', format: name, timestampMs });
  }
  if (format === '04' && !(width > 0 && height > 0)) return 'bad';
  const name = { '01': 'h264', '02': 'h265', '03': 'mjpeg', '04': 'i420' }[format];
  const isKeyFrame = flags === '0001';
  return JSON.stringify({ kind: 'video', format: name, isKeyFrame, width, height, timestampMs });
}

const numbers: readonly unknown[] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 1.5, 1e300];
const reasons = numbers.concat(null, '1', 'busy', 'lost', 'Busy', 'x', '', true, [[1]], {});

function textFields(chance: Chance): Record<string, unknown> {
  const type = pick(chance, ['accept', 'reject', 'refuse', 'hangup', 'state', 'state', 'hello', 'toString']);
  const fields: Record<string, unknown> = { type };
  if (chance.next() < 0.7)
    fields['state'] = pick(chance, ['ringing', 'attempting', 'connected', 'ended', 'ended', 'issued', 7]);
  if (chance.next() < 0.7) fields['reason'] = pick(chance, reasons);
  if (chance.next() < 0.3) fields['session'] = pick(chance, ['one', '', 7, null]);
  if (chance.next() < 0.3) fields['more'] = pick(chance, ['ä', '睡眠', '😀']);
  return fields;
}

type Breakage = (text: string, at: number, chance: Chance) => string;
const breakages: readonly Breakage[] = [
  (text) => text,
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at, chance) =>
    text.slice(0, at) + pick(chance, ['"', '{', '}', '[', ',', ':', ' ', '\n', '\\']) + text.slice(at),
  (text, at, chance) => text.slice(0, at) + String.fromCharCode(chance.below(256)) + text.slice(at + 1),
  (text, at) => text.slice(0, at),
  (text, at) => text.slice(0, at) + text.slice(at).toUpperCase(),
  (text) => text.replace('"type"', '"type":"accept","type"'),
  (text) => text.replace(/"(\w)/, '"\\u00$1'),
  (text) => text.replace('}', ',"x":"\\ud800"}'),
  (text) => text.replace('}', ',"x":"\\ud83d\\ude00"}'),
  (text) => text.replace('}', ',"__proto__":{"type":"accept"}}'),
  (text) => `\ufeff${text}`,
  (text) => ` ${text}\r\n`,
  (text) => `[${text}]`,
];

function brokenText(chance: Chance): Buffer {
  let text = JSON.stringify(textFields(chance));
  for (let i = chance.below(3); i > 0; i--)
    text = pick(chance, breakages)(text, chance.below(text.length), chance);
  // Sometimes encoded in latin1, so that it may be invalid UTF-8.
  return Buffer.from(text, chance.next() < 0.9 ? 'utf8' : 'latin1');
}

/** Usually a good frame with some bytes changed, possibly cut. */
function brokenFrame(chance: Chance): Buffer {
  const frame = Buffer.alloc(12 + chance.below(4));
  frame[0] = 1 + chance.below(2);
  frame[1] = 1 + chance.below(4);
  frame[3] = chance.below(2);
  if (frame[0] === 1) frame.writeUInt32BE(chance.below(2) * 0x028001e0, 4);
  frame.writeUInt32BE(chance.below(2 ** 32), 8);
  for (let i = chance.below(3); i > 0; i--)
    frame[chance.below(frame.length)] = pick(chance, [0, 1, 5, 128, 255]);
  return chance.next() < 0.9 ? frame : frame.subarray(0, chance.below(frame.length));
}

/** Null: every round agreed; else the first that did not. */
function fuzz(read: Reader): string | null {
  const chance = chanceFrom(seed);
  for (let round = 0; round < rounds; round++) {
    const language = pick(chance, languages);
    const bytes = language === 'frame' ? brokenFrame(chance) : brokenText(chance);
    const expected = page(language, bytes);
    const heard = read(language, bytes);
    if (heard !== expected)
      return `seed ${seed}, round ${round}: ${heard} instead of ${expected} for ${language} ${bytes.toString('latin1')}`;
  }
  return null;
}

test('every mutated message is read as the page says', () => {
  assert.equal(fuzz(ours), null);
});

test('the fuzzer makes every kind of message of every side, broken and whole', () => {
  const seen = new Set<string>();
  fuzz((language, bytes) => {
    const heard = ours(language, bytes);
    seen.add(
      `${language} ${heard === 'bad' ? 'bad' : (JSON.parse(heard) as { readonly kind: string }).kind}`,
    );
    return heard;
  });
  assert.deepEqual([...seen].sort(), [
    'bridge answer',
    'bridge bad',
    'bridge report',
    'device bad',
    'device end',
    'device progress',
    'frame audio',
    'frame bad',
    'frame video',
  ]);
});

test('the fuzzer catches a reader that accepts invalid UTF-8', () => {
  const lenient: Reader = (language, bytes) =>
    ours(language, language === 'frame' ? bytes : Buffer.from(bytes.toString('utf8')));
  assert.notEqual(fuzz(lenient), null);
});

test('the fuzzer catches a reader that ignores the flags', () => {
  const blind: Reader = (language, bytes) => {
    const changed = Buffer.from(bytes);
    if (language === 'frame' && changed.length > 3) changed.writeUInt16BE(changed.readUInt16BE(2) & 1, 2);
    return ours(language, changed);
  };
  assert.notEqual(fuzz(blind), null);
});

/** Describes the relay's input for a binary message of a leg, or `bad`. */
type Carrier = (message: Buffer) => string;

const sessionId = generateSessionId();

const memberCarrier: Carrier = (message) => {
  const [socket, context] = [new FakeFrameSocket(), new FakeMediaListenerContext()];
  const leg = new SocketLeg(socket, context, '');
  leg.enter((opening) => ({ kind: 'device', leg: new FakeOpenLeg('device', opening, () => undefined) }));
  leg.carry((out) => context.relay.joinDevice(sessionId, callMedia, out));
  leg.received(message, true);
  const [frame, ...more] = context.relay.joined.flatMap(({ frames }) => frames);
  assert.deepEqual([more, socket.said.length], [[], frame === undefined ? 1 : 0]);
  if (frame === undefined) return 'bad';
  return carriedFrame(frame.headerBytes, frame.payload, message);
};

function carriedFrame(header: Uint8Array, payload: Uint8Array, message: Buffer): string {
  const isAlone = payload.buffer !== message.buffer || message.buffer.byteLength === message.length;
  const [headerText, payloadText] = [header, payload].map((bytes) => Buffer.from(bytes).toString('hex'));
  return `${headerText} ${payloadText} ${isAlone ? 'alone' : 'beside others'}`;
}

function pageCarrier(message: Buffer): string {
  const hex = message.toString('hex');
  return pageFrame(message) === 'bad' ? 'bad' : `${hex.slice(0, 24)} ${hex.slice(24)} alone`;
}

/** As the socket delivers it: in memory of its own, or inside a larger read. */
function asItCame(chance: Chance, bytes: Buffer): Buffer {
  const [before, behind] = chance.next() < 0.5 ? [0, 0] : [chance.below(20), chance.below(20)];
  const memory = new Uint8Array(before + bytes.length + behind).fill(0x5a);
  memory.set(bytes, before);
  return Buffer.from(memory.buffer, before, bytes.length);
}

/** As `fuzz`. */
function fuzzCarrier(carry: Carrier): string | null {
  const chance = chanceFrom(seed);
  for (let round = 0; round < rounds; round++) {
    const message = asItCame(chance, brokenFrame(chance));
    const hex = message.toString('hex');
    const expected = pageCarrier(message);
    const carried = carry(message);
    if (carried !== expected)
      return `seed ${seed}, round ${round}: ${carried} instead of ${expected} for ${hex}`;
  }
  return null;
}

test('no mutated frame is carried, and every valid one is carried unchanged, in memory of its own', () => {
  assert.equal(fuzzCarrier(memberCarrier), null);
});

test('the fuzzer catches a leg that transfers the neighbours of a frame with it', () => {
  const greedy: Carrier = (message) =>
    memberCarrier(message) === 'bad'
      ? 'bad'
      : carriedFrame(message.subarray(0, 12), message.subarray(12), message);
  assert.notEqual(fuzzCarrier(greedy), null);
});
