import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceFrame } from '../../../../src/model/media/picture.ts';
import { describeFrame, i420Bytes } from '../../../../src/media/geometry/source-frame.ts';
import { h264ParameterSet, h265ParameterSet } from '../../../support/parameter-sets.ts';
import { sizeOf } from '../../../support/picture-sizes.ts';

const h264Set = h264ParameterSet({ macroblocks: [5, 7], crop: [0, 3, 0, 6] });
const h265Set = h265ParameterSet({ coded: [80, 104], crop: [0, 3, 0, 2] });
/** Bytes that count how often each is read. */
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
