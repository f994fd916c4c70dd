/** Frames that would cost their decoder far more than their size: none reaches it. */
import assert from 'node:assert/strict';
import { H264Frames } from '../../../../src/media/geometry/h264-stream.ts';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import type { SourceFrame } from '../../../../src/model/media/picture.ts';
import { fitScreen, transcodeFrame } from '../../../support/coded-frames.ts';
import { transcoderTest } from '../../../support/engine-test.ts';
import {
  h264Key,
  h264OfSlices,
  h265OfSlices,
  jpegOfHeaders,
  jpegOfScans,
  jpegOfTables,
  tinyH264Set,
  tinyH265Set,
} from '../../../support/hostile-pictures.ts';
import { h264ParameterSet } from '../../../support/parameter-sets.ts';
import { test } from 'node:test';

const rows = Array.from({ length: 68 }, (_, row) => row * 120);
const everyBlock = Array.from({ length: 256 }, (_, block) => block);
const overlapping = [0, ...Array<number>(999).fill(1)];

type Frames = (engine: Engine) => readonly SourceFrame[];

/** The frames before the last one are decoded. */
const hostile: readonly [name: string, frames: Frames][] = [
  ['a JPEG of 80 000 scans', () => [jpegOfScans(80_000)]],
  ['a JPEG of 33 scans', () => [jpegOfScans(33)]],
  ['a JPEG of 60 000 frame headers', () => [jpegOfHeaders(60_000)]],
  ['a JPEG of 20 000 Huffman tables', () => [jpegOfTables(20_000)]],
  ['H.264 of overlapping slices', () => [h264Key(), h264OfSlices(1, overlapping)]],
  [
    'H.264 of slices at every block',
    () => [
      h264Key(),
      h264OfSlices(
        1,
        overlapping.map((_, n) => n),
      ),
    ],
  ],
  ['H.264 of 10 000 slices', () => [h264Key(), h264OfSlices(1, Array<number>(10_000).fill(8159))]],
  [
    'H.264 of overlapping slices behind a tiny parameter set',
    () => [h264Key(tinyH264Set), h264OfSlices(1, overlapping, tinyH264Set)],
  ],
  ['H.265 of overlapping slices', (engine) => h265OfSlices(engine, overlapping)],
  ['H.265 of slices at every block', (engine) => h265OfSlices(engine, everyBlock)],
  [
    'H.265 of overlapping slices behind a tiny parameter set',
    (engine) => h265OfSlices(engine, overlapping, tinyH265Set(engine)),
  ],
];

for (const [name, frames] of hostile)
  transcoderTest(`${name} is rejected before it is decoded`, (transcoder, engine) => {
    const drops = frames(engine).map((frame) => transcodeFrame(transcoder, frame, [fitScreen]).drop);
    assert.equal(drops.pop(), 'undecodable');
    assert.ok(drops.every((drop) => drop === null));
  });

const honest: readonly [name: string, frames: Frames][] = [
  ['a JPEG of 32 scans', () => [jpegOfScans(32)]],
  [
    'H.265 of 16 slices',
    (engine) =>
      h265OfSlices(
        engine,
        everyBlock.filter((block) => block % 16 === 0),
      ),
  ],
  ['H.265 behind a tiny parameter set', (engine) => h265OfSlices(engine, [0], tinyH265Set(engine))],
];

for (const [name, frames] of honest)
  transcoderTest(`${name} is decoded`, (transcoder, engine) => {
    for (const frame of frames(engine))
      assert.equal(transcodeFrame(transcoder, frame, [fitScreen]).drop, null);
  });

function isTaken(frame: SourceFrame, isKey = false): boolean {
  const frames = new H264Frames();
  assert.equal(frames.check(h264Key().payload, true), 'whole');
  return frames.check(frame.payload, isKey) === 'whole';
}

test('H.264 with a slice for every row of the largest usual picture may be decoded', () => {
  assert.ok(isTaken(h264OfSlices(1, rows)));
  assert.ok(!isTaken(h264OfSlices(1, [...rows, ...rows])));
});

test('H.264 with slices of 1200 bytes may be decoded, however many a message contains', () => {
  const begins = Array.from({ length: 800 }, (_, n) => n * 10);
  const filler = Buffer.concat([Buffer.from('000001', 'hex'), Buffer.alloc(1_020_000, 0x46)]);
  assert.ok(!isTaken(h264OfSlices(1, begins)));
  assert.ok(isTaken(h264OfSlices(1, begins, filler)));
});

test('H.264 that needs too much memory for its references is rejected', () => {
  const [fits, needsMore] = [12, 13].map((references) =>
    h264ParameterSet({ macroblocks: [128, 128], references }),
  );
  assert.equal(new H264Frames().check(fits ?? Buffer.of(), true), 'whole');
  assert.equal(new H264Frames().check(needsMore ?? Buffer.of(), true), 'too_costly');
});
