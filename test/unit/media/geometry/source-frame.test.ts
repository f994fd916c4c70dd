import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceFrame } from '../../../../src/model/media/picture.ts';
import { describeFrame, i420Bytes } from '../../../../src/media/geometry/source-frame.ts';
import { h264ParameterSet, h265ParameterSet } from '../../../support/parameter-sets.ts';
import { sizeOf } from '../../../support/picture-sizes.ts';

const h264Set = h264ParameterSet({ macroblocks: [5, 7], crop: [0, 3, 0, 6] });
const h264Inter = Buffer.from('000001419a38', 'hex');
const h264Idr = Buffer.from('00000165888404', 'hex');
const h265Set = h265ParameterSet({ coded: [80, 104], crop: [0, 3, 0, 2] });
const h265Inter = Buffer.from('0000010201d009', 'hex');
const h265Cra = Buffer.from('0000012a01ac08', 'hex');
const jpeg = Buffer.from('ffd8ffc00011080064004a03012200021101031101', 'hex');

/** Its header says 640x480, which no payload here does. */
function frame(
  format: SourceFrame['format'],
  payload: readonly Uint8Array[],
  isKeyFrame: boolean,
): SourceFrame {
  return { format, isKeyFrame, width: 640, height: 480, payload: Uint8Array.from(Buffer.concat(payload)) };
}

const own = { width: 74, height: 100 };
const descriptions: [name: string, frame: SourceFrame, size: typeof own | null, isKey: boolean][] = [
  ['H.264 with an IDR picture', frame('h264', [h264Set, h264Idr], true), own, true],
  ['H.264 with an IDR picture that is not marked', frame('h264', [h264Set, h264Idr], false), own, true],
  ['H.264 with an IDR picture alone', frame('h264', [h264Idr], false), null, true],
  ['H.264 that is marked and has parameter sets', frame('h264', [h264Set, h264Inter], true), own, true],
  ['H.264 that has parameter sets and is not marked', frame('h264', [h264Set, h264Inter], false), own, false],
  ['H.264 that is marked and has none', frame('h264', [h264Inter], true), null, false],
  ['H.264 of no sense', frame('h264', [jpeg], true), null, false],
  ['H.265 with a random access point', frame('h265', [h265Set, h265Cra], true), own, true],
  ['H.265 with a random access point alone, not marked', frame('h265', [h265Cra], false), null, true],
  ['H.265 that is marked and has parameter sets', frame('h265', [h265Set, h265Inter], true), own, true],
  ['H.265 that has parameter sets and is not marked', frame('h265', [h265Set, h265Inter], false), own, false],
  ['H.265 that is marked and has none', frame('h265', [h265Inter], true), null, false],
  ['a JPEG', frame('mjpeg', [jpeg], true), own, true],
  ['a JPEG that is not marked', frame('mjpeg', [jpeg], false), own, true],
  ['a JPEG of no sense', frame('mjpeg', [h264Set], false), null, true],
  ['I420, whose header alone tells', frame('i420', [jpeg], false), { width: 640, height: 480 }, true],
];
for (const [name, source, size, isKey] of descriptions)
  test(`${name}: size ${size === null ? 'not known' : `${size.width}x${size.height}`}, ${isKey ? 'a' : 'no'} key frame`, () => {
    const described = describeFrame(source);
    assert.deepEqual([described.size, described.isKey], [size, isKey]);
  });

/** Bytes that count how often one of them is read. */
function countedBytes(bytes: Uint8Array): { bytes: Uint8Array<ArrayBuffer>; reads: () => number } {
  let reads = 0;
  const indexOf = (value: number, from: number): number => {
    const found = bytes.indexOf(value, from);
    reads += (found === -1 ? bytes.length : found) - from + 1;
    return found;
  };
  const counted = new Proxy(bytes, {
    get: (target, key) => {
      if (key === 'indexOf') return indexOf;
      reads += 1;
      return Reflect.get(target, key, target) as unknown;
    },
  });
  return { bytes: counted as Uint8Array<ArrayBuffer>, reads: () => reads };
}

const slowPatterns: [format: SourceFrame['format'], hex: string, why: string][] = [
  ['h264', '00', 'zeros'],
  ['h264', '000001', 'start codes'],
  ['h264', '00000167', 'empty parameter sets'],
  ['h264', '000003', 'zeros with bytes against emulation'],
  ['h264', h264Set.toString('hex'), 'parameter sets'],
  ['h265', '000001420100', 'empty parameter sets'],
  ['h265', h265Set.toString('hex'), 'parameter sets'],
  ['mjpeg', 'ff', 'fill bytes'],
  ['mjpeg', 'ff00', 'stuffed bytes'],
  ['mjpeg', 'ffd0', 'restart markers'],
  ['mjpeg', 'ffe00002', 'empty segments'],
  ['mjpeg', 'ffe00000', 'segments whose length is nonsense'],
  ['mjpeg', 'aa', 'bytes that are no marker'],
];
for (const [format, hex, why] of slowPatterns)
  test(`each byte of ${format} that is nothing but ${why} is read a few times at most`, () => {
    const lead = { h264: '00000167', h265: '0000014201', mjpeg: 'ffd8', i420: '' }[format];
    const bytes = Buffer.from(lead + hex.repeat(100_000 / hex.length), 'hex');
    const payload = countedBytes(Uint8Array.from(bytes));
    describeFrame({ format, isKeyFrame: true, width: 0, height: 0, payload: payload.bytes });
    assert.ok(payload.reads() > 2 && payload.reads() < 8 * bytes.length, `${payload.reads()} reads`);
  });

const planes: [size: string, bytes: number][] = [
  ['640x480', 307_200 + 2 * 76_800],
  ['74x100', 7400 + 2 * 1850],
  ['2x2', 4 + 2],
  ['1x1', 1 + 2],
  ['3x2', 6 + 2 * 2],
  ['3x3', 9 + 2 * 4],
  ['65535x65535', 65_535 ** 2 + 2 * 32_768 ** 2],
];
for (const [size, bytes] of planes)
  test(`the planes of ${size} are ${bytes} bytes`, () => {
    assert.equal(i420Bytes(sizeOf(size)), bytes);
  });
