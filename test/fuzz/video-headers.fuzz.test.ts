/**
 * Video frames built field by field and mutated at random. Size and key frame agree with a simple reference reader, which
 * examines the whole frame by the tables of the standards; nothing throws, and no byte outside the frame is read. The canaries
 * are readers with plausible faults, which the fuzzer has to catch. Source: ITU-T H.264, H.265 and T.81.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Size } from '../../src/model/call.ts';
import type { VideoFrameFormat } from '../../src/model/media/picture.ts';
import type { FrameDescription } from '../../src/model/media/picture.ts';
import { describeFrame } from '../../src/media/geometry/source-frame.ts';
import { h264ParameterSet, h265ParameterSet } from '../support/parameter-sets.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_122);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 12_000);

type Format = Exclude<VideoFrameFormat, 'i420'>;
type Reading = Pick<FrameDescription, 'size' | 'isKey'>;
type Reader = (format: Format, payload: Uint8Array<ArrayBuffer>, isKeyFrame: boolean) => Reading;

const deps: Reader = (format, payload, isKeyFrame) => {
  const { size, isKey } = describeFrame({ format, payload, isKeyFrame, width: 0, height: 0 });
  return { size, isKey };
};

/** The reference reader: text of hex and of bits, cut with regular expressions. */
const page: Reader = (format, payload, isKeyFrame) => {
  const hex = Buffer.from(payload).toString('hex');
  if (format === 'mjpeg') return { size: pageJpeg(hex), isKey: true };
  const units = pageUnits(hex);
  const kinds = units.map((unit) => (format === 'h264' ? pageH264Kind(unit) : pageH265Kind(unit)));
  const slice = kinds.findIndex((kind) => kind === 'slice' || kind === 'key');
  const sets = (slice === -1 ? units : units.slice(0, slice)).filter((_, at) => kinds[at] === 'set');
  const sizes = sets.slice(0, 32).flatMap((unit) => pageSize(format, unit) ?? []);
  const size = sizes.toSorted((one, other) => other.width * other.height - one.width * one.height)[0] ?? null;
  const isRecovery = slice !== -1 && units.slice(0, slice).some((unit) => pageRecovers(format, unit));
  return { size, isKey: isRecovery || kinds[slice] === 'key' || (isKeyFrame && size !== null) };
};

/** True for a message with a recovery point among its payloads in the first KiB. */
function pageRecovers(format: Format, unit: string): boolean {
  const isMessage = format === 'h264' ? parseInt(unit.slice(0, 2), 16) % 32 === 6 : /^4[ef]/.test(unit);
  if (!isMessage || (format === 'h265' && pageH265Kind(unit) !== 'other')) return false;
  let bytes =
    pageBits(unit, format === 'h264' ? 1 : 2)
      .match(/.{8}/g)
      ?.map((bits) => parseInt(bits, 2)) ?? [];
  const number = (): number => {
    const last = bytes.findIndex((byte) => byte !== 255);
    const value = last === -1 ? NaN : 255 * last + (bytes[last] ?? 0);
    bytes = bytes.slice(last + 1);
    return value;
  };
  for (let left = 1024; left > 0;) {
    const [type, length] = [number(), number()];
    if (Number.isNaN(type + length)) return false;
    if (type === 6) return true;
    bytes = bytes.slice(length);
    left -= length + 2;
  }
  return false;
}

/** The units between start codes, without these and the zeros before them. */
function pageUnits(hex: string): string[] {
  const [, ...units] = spaced(hex).split('00 00 01 ');
  return units.map((unit) => unit.replace(/(?:00 )+$/, '').replaceAll(' ', '')).filter((unit) => unit !== '');
}

/** Separates the bytes, so that no match spans the halves of two. */
function spaced(hex: string): string {
  return hex.replace(/../g, '$& ');
}

function pageH264Kind(unit: string): string {
  const type = parseInt(unit.slice(0, 2), 16) % 32;
  return type === 5 ? 'key' : type === 7 ? 'set' : [1, 2, 3, 4].includes(type) ? 'slice' : 'other';
}

function pageH265Kind(unit: string): string {
  const bits = parseInt(`1${unit.slice(0, 4).padEnd(4, '0')}`, 16)
    .toString(2)
    .slice(-16);
  const [, type = '', layer, time] = /^.(.{6})(.{6})(.{3})$/.exec(bits) ?? [];
  if (layer !== '000000' || time === '000') return 'other';
  if (type === '100001') return 'set';
  if (type.startsWith('1')) return 'other';
  return /^010(?:0|10)/.test(type) ? 'key' : 'slice';
}

/** Bits of a parameter set, up to the first that cannot belong to one. */
function pageBits(unit: string, headerBytes: number): string {
  const [own = ''] = spaced(unit.slice(2 * headerBytes)).split(/00 00 0[012] /);
  return own
    .replaceAll('00 00 03 ', '00 00 ')
    .replace(/\w\w/g, (byte) => parseInt(byte, 16).toString(2).padStart(8, '0'))
    .replaceAll(' ', '');
}

class Spent extends Error {}

/** Reads bits from the front of a text. */
function taker(bits: string): { u: (count: number) => number; ue: () => number } {
  let rest = bits;
  const u = (count: number): number => {
    if (rest.length < count) throw new Spent();
    const taken = rest.slice(0, count);
    rest = rest.slice(count);
    return parseInt(`0${taken}`, 2);
  };
  const ue = (): number => {
    const zeros = rest.indexOf('1');
    if (zeros === -1 || zeros > 31) throw new Spent();
    u(zeros);
    return u(zeros + 1) - 1;
  };
  return { u, ue };
}

function pageSize(format: Format, unit: string): Size | null {
  try {
    return format === 'h264' ? pageH264(pageBits(unit, 1)) : pageH265(pageBits(unit, 2));
  } catch (error) {
    assert.ok(error instanceof Spent);
    return null;
  }
}

function pageCrop(
  u: (bits: number) => number,
  ue: () => number,
  size: Size,
  unitX: number,
  unitY: number,
): Size | null {
  const [left, right, top, bottom] = u(1) === 1 ? [ue(), ue(), ue(), ue()] : [0, 0, 0, 0];
  const width = size.width - unitX * (left + right);
  const height = size.height - unitY * (top + bottom);
  return width < 1 || height < 1 ? null : { width, height };
}

function pageH264(bits: string): Size | null {
  const { u, ue } = taker(bits);
  const profile = u(8);
  u(16);
  ue();
  let format = 1;
  if (
    ![66, 77, 88].includes(profile) &&
    /^(44|83|86|100|110|118|122|128|134|135|138|139|244)$/.test(`${profile}`)
  ) {
    format = ue();
    if (format === 3) u(1);
    ue();
    ue();
    u(1);
    if (u(1) === 1)
      for (let list = 0; list < (format === 3 ? 12 : 8); list += 1) {
        if (u(1) === 0) continue;
        for (let scale = 8, at = 0; at < (list < 6 ? 16 : 64) && scale !== 0; at += 1) {
          const code = ue();
          const delta = Math.ceil(code / 2) * (code % 2 === 0 ? -1 : 1);
          scale = (scale + delta + 256) % 256;
        }
      }
  }
  ue();
  const order = ue();
  if (order === 0) ue();
  if (order === 1) {
    u(1);
    ue();
    ue();
    for (let more = Math.min(ue(), 255); more > 0; more -= 1) ue();
  }
  ue();
  u(1);
  const [columns, rows] = [ue() + 1, ue() + 1];
  const isFrames = u(1) === 1;
  u(isFrames ? 1 : 2);
  const rowFactor = isFrames ? 1 : 2;
  if (format > 3) return null;
  const unitX = format === 1 || format === 2 ? 2 : 1;
  const unitY = (format === 1 ? 2 : 1) * rowFactor;
  return pageCrop(u, ue, { width: 16 * columns, height: 16 * rowFactor * rows }, unitX, unitY);
}

function pageH265(bits: string): Size | null {
  const { u, ue } = taker(bits);
  u(4);
  const layers = u(3);
  u(1);
  for (let byte = 0; byte < 12; byte += 1) u(8);
  const flags = Array.from({ length: layers }, () => [u(1), u(1)]);
  if (layers > 0) for (let at = layers; at < 8; at += 1) u(2);
  for (const [profile, level] of flags)
    for (let bytes = (profile === 1 ? 11 : 0) + (level === 1 ? 1 : 0); bytes > 0; bytes -= 1) u(8);
  ue();
  const format = ue();
  if (format === 3) u(1);
  const size = { width: ue(), height: ue() };
  if (format > 3) return null;
  return pageCrop(u, ue, size, format === 1 || format === 2 ? 2 : 1, format === 1 ? 2 : 1);
}

function pageJpeg(hex: string): Size | null {
  const bytes = hex.match(/../g) ?? [];
  const start = bytes.findIndex((byte, at) => byte === 'ff' && bytes[at + 1] === 'd8');
  if (start === -1) return null;
  let rest = bytes.slice(start + 2);
  for (;;) {
    const marker = rest.findIndex((byte, at) => rest[at - 1] === 'ff' && byte !== 'ff' && byte !== '00');
    const code = rest[marker] ?? '';
    rest = rest.slice(marker + 1);
    if (marker === -1 || /^d[9a]$/.test(code)) return null;
    if (/^(01|d[0-8])$/.test(code)) continue;
    const segment = rest.slice(0, Math.max(parseInt(rest.slice(0, 2).join(''), 16) || 0, 2));
    if (/^c[0-35-79abd-f]$/.test(code)) {
      const [height, width] = [
        parseInt(rest.slice(3, 5).join(''), 16),
        parseInt(rest.slice(5, 7).join(''), 16),
      ];
      return rest.length >= 7 && height > 0 && width > 0 ? { width, height } : null;
    }
    rest = rest.slice(segment.length);
  }
}

function pick<Item>(chance: Chance, items: readonly Item[]): Item {
  const item = items[chance.below(items.length)];
  assert(item !== undefined);
  return item;
}

function several(chance: Chance, most: number): number[] {
  return Array.from({ length: chance.below(most + 1) }, (_, index) => index);
}

function edges(chance: Chance): readonly [number, number, number, number] {
  const edge = (): number => chance.below(9);
  return [edge(), edge(), edge(), edge()];
}

function h264Set(chance: Chance): Buffer {
  const chromaFormat = pick(chance, [0, 1, 1, 2, 3, 4]);
  const list = (): number[] | null =>
    chance.next() < 0.5 ? null : pick(chance, [[-8], [5, -13], [0, 0, 0, -8], [127, -7, -128]]);
  return h264ParameterSet({
    profile: pick(chance, [66, 77, 44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244]),
    id: chance.below(4),
    chromaFormat,
    hasSeparatePlanes: chance.next() < 0.2,
    ...(chance.next() < 0.3 ? { scaling: Array.from({ length: chromaFormat === 3 ? 12 : 8 }, list) } : {}),
    pictureOrder: pick(chance, [0, 1, 2] as const),
    cycle: several(chance, 5),
    macroblocks: [1 + chance.below(pick(chance, [3, 300])), 1 + chance.below(pick(chance, [3, 300]))],
    hasFields: chance.next() < 0.3,
    ...(chance.next() < 0.5 ? { crop: edges(chance) } : {}),
  });
}

function h265Set(chance: Chance): Buffer {
  return h265ParameterSet({
    subLayers: several(chance, pick(chance, [0, 6])).map(() => [chance.next() < 0.5, chance.next() < 0.5]),
    chromaFormat: pick(chance, [0, 1, 1, 2, 3, 4]),
    coded: [chance.below(pick(chance, [20, 5000])), chance.below(pick(chance, [20, 5000]))],
    ...(chance.next() < 0.5 ? { crop: edges(chance) } : {}),
    layer: pick(chance, [0, 0, 0, 1]),
  });
}

function segment(marker: string, content: string): string {
  return `ff${marker}${(content.length / 2 + 2).toString(16).padStart(4, '0')}${content}`;
}

function frameHeader(chance: Chance): string {
  const side = (): string =>
    chance
      .below(pick(chance, [3, 5000]))
      .toString(16)
      .padStart(4, '0');
  return segment(
    pick(chance, ['c0', 'c1', 'c2', 'c3', 'c9', 'cf']),
    `08${side()}${side()}03012200021101031101`,
  );
}

function jpegPart(chance: Chance): string {
  return pick(chance, [
    () => segment('e1', `457869660000ffd8${frameHeader(chance)}ffd9`),
    () => segment(pick(chance, ['c4', 'c8', 'cc', 'db', 'dd', 'fe']), 'ff'.repeat(chance.below(9))),
    () => pick(chance, ['ffd0', 'ffd8', 'ff01', 'ff', 'ffff', 'ff00', '00aa']),
    () => frameHeader(chance),
  ])();
}

function wholeFrame(format: Format, chance: Chance): Buffer {
  if (format === 'mjpeg') {
    const parts = several(chance, 4).map(() => jpegPart(chance));
    return Buffer.from(`ffd8${parts.join('')}${frameHeader(chance)}ffda000c03`, 'hex');
  }
  const [set, slices] =
    format === 'h264'
      ? [h264Set, ['000001658884', '00000141888a', '0000000109f0', '00000168cb83']]
      : [h265Set, ['0000012801af', '0000012a01ac', '0000010201d0', '0000014401c1', '0000012809af']];
  const units = several(chance, 4).map(() =>
    chance.next() < 0.6 ? set(chance) : Buffer.from(pick(chance, slices), 'hex'),
  );
  // Sometimes with start codes of three bytes.
  const frame = Buffer.concat([...units, Buffer.from(pick(chance, slices), 'hex')]);
  return frame.subarray(chance.below(2));
}

type Breakage = (bytes: Buffer, at: number, chance: Chance) => Buffer;
const breakages: readonly Breakage[] = [
  (bytes, at, chance) =>
    Buffer.concat([bytes.subarray(0, at), Buffer.from([chance.below(256)]), bytes.subarray(at + 1)]),
  (bytes, at) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]),
  (bytes, at, chance) =>
    Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from(pick(chance, ['00', '0000', '000001', '000002', '000003', 'ff', 'ffd9', 'ffda']), 'hex'),
      bytes.subarray(at),
    ]),
  (bytes, at, chance) => Buffer.concat([bytes.subarray(0, at), Buffer.alloc(chance.below(4))]),
];

function brokenFrame(format: Format, chance: Chance): Uint8Array<ArrayBuffer> {
  let frame = wholeFrame(format, chance);
  for (let more = chance.below(4); more > 0; more -= 1)
    frame = pick(chance, breakages)(frame, chance.below(frame.length), chance);
  return between(frame, format === 'mjpeg' ? [0xff, 0xd8] : [0, 0, 1], chance);
}

/** A frame in the middle of a buffer whose neighbours also begin like one. */
function between(frame: Buffer, start: readonly number[], chance: Chance): Uint8Array<ArrayBuffer> {
  const around = start.slice(chance.below(start.length));
  const whole = Uint8Array.from([...start, ...frame, ...around, ...frame]);
  return whole.subarray(start.length, start.length + frame.length);
}

const formats = ['h264', 'h265', 'mjpeg'] as const;

function inWords({ size, isKey }: Reading): string {
  return `${size === null ? 'no size' : `${size.width}x${size.height}`}, ${isKey ? 'key' : 'no key'}`;
}

/** Null: every round agreed; else the first that did not. */
function fuzz(read: Reader): string | null {
  const chance = chanceFrom(seed);
  for (let round = 0; round < rounds; round += 1) {
    const format = pick(chance, formats);
    const payload = brokenFrame(format, chance);
    const isKeyFrame = chance.next() < 0.5;
    const expected = inWords(page(format, payload, isKeyFrame));
    const heard = inWords(read(format, payload, isKeyFrame));
    if (heard !== expected)
      return `seed ${seed}, round ${round}: ${heard} instead of ${expected} for ${format} ${Buffer.from(payload).toString('hex')}`;
  }
  return null;
}

test('every mutated frame is read as the page says', () => {
  assert.equal(fuzz(deps), null);
});

test('the fuzzer makes frames of every format, with and without a size, key frames and others', () => {
  const seen = new Map<string, number>();
  fuzz((format, payload, isKeyFrame) => {
    const read = deps(format, payload, isKeyFrame);
    const what = `${format} ${read.size === null ? 'no size' : 'size'} ${read.isKey ? 'key' : 'no key'}`;
    seen.set(what, (seen.get(what) ?? 0) + 1);
    return read;
  });
  assert.equal(seen.size, 10, [...seen.keys()].join());
  assert.ok(Math.min(...seen.values()) > 100, [...seen.values()].join());
});

/** Passes changed bytes of one format to the real reader. */
function misreading(of: Format, change: (spacedHex: string) => string): Reader {
  return (format, payload, isKeyFrame) => {
    if (format !== of) return deps(format, payload, isKeyFrame);
    const changed = change(spaced(Buffer.from(payload).toString('hex')));
    return deps(format, Uint8Array.from(Buffer.from(changed.replaceAll(' ', ''), 'hex')), isKeyFrame);
  };
}

function misjudging(change: (read: Reading, isKeyFrame: boolean) => Reading): Reader {
  return (format, payload, isKeyFrame) => change(deps(format, payload, isKeyFrame), isKeyFrame);
}

const canaries: readonly (readonly [string, Reader])[] = [
  [
    'keeps the bytes against emulation',
    misreading('h264', (hex) => hex.replaceAll('00 00 03 ', '00 00 03 03 ')),
  ],
  ['keeps them in H.265', misreading('h265', (hex) => hex.replaceAll('00 00 03 ', '00 00 03 03 '))],
  [
    'knows start codes of four bytes only',
    misreading('h264', (hex) => hex.replace(/(?<!00 )00 00 01 /g, 'aa aa aa ')),
  ],
  [
    'takes an I picture for an IDR picture',
    misreading('h264', (hex) => hex.replaceAll('00 00 01 41 ', '00 00 01 65 ')),
  ],
  [
    'takes a CRA picture for none to start at',
    misreading('h265', (hex) => hex.replaceAll('00 00 01 2a ', '00 00 01 02 ')),
  ],
  [
    'looks at further layers',
    misreading('h265', (hex) => hex.replaceAll('00 00 01 42 09 ', '00 00 01 42 01 ')),
  ],
  [
    'forgets the cropping',
    misjudging(({ size, isKey }) => ({
      size: size && { width: Math.ceil(size.width / 16) * 16, height: size.height },
      isKey,
    })),
  ],
  [
    'takes what repeats parameter sets for a key frame',
    misjudging(({ size, isKey }) => ({ size, isKey: isKey || size !== null })),
  ],
  [
    'believes the flag alone',
    misjudging(({ size, isKey }, isKeyFrame) => ({ size, isKey: isKey || isKeyFrame })),
  ],
  [
    'does not believe the payload without the flag',
    misjudging(({ size, isKey }, isKeyFrame) => ({ size, isKey: isKey && isKeyFrame })),
  ],
  [
    'takes the width of a JPEG for its height',
    (format, payload, isKeyFrame) => {
      const { size, isKey } = deps(format, payload, isKeyFrame);
      return { size: format === 'mjpeg' && size ? { width: size.height, height: size.width } : size, isKey };
    },
  ],
  ['takes a thumbnail for the picture', misreading('mjpeg', (hex) => hex.replaceAll('ff e1 ', 'ff 01 '))],
  ['is stopped by fill bytes', misreading('mjpeg', (hex) => hex.replaceAll('ff ff ', 'ff d9 '))],
  [
    'steps over markers that have no segment',
    misreading('mjpeg', (hex) => hex.replaceAll('ff d0 ', 'ff d0 ff dd 00 20 ')),
  ],
];
for (const [fault, read] of canaries)
  test(`the fuzzer catches a reader that ${fault}`, () => {
    assert.notEqual(fuzz(read), null);
  });
