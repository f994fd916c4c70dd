/** Ranges and matrices: what a plain colour of the source is in the JPEG, as BT.601 at full range. */
import assert from 'node:assert/strict';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import { Decoder } from '../../../../src/media/codec/decoder.ts';
import type { SourceFrame } from '../../../../src/model/media/picture.ts';
import {
  encodeFilm,
  fitScreen,
  makeTranscoder,
  onlyPicture,
  ownSize,
  sourceFrame,
} from '../../../support/coded-frames.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { movingPicture, plainPicture } from '../../../support/moving-picture.ts';

const size = { width: 64, height: 48 };

/** Y, U and V; limited range in, full range out. */
const colours = [
  { limited: [16, 128, 128], full: [0, 128, 128] },
  { limited: [235, 128, 128], full: [255, 128, 128] },
  { limited: [126, 128, 128], full: [128, 128, 128] },
  { limited: [81, 90, 240], full: [76, 85, 255] },
  { limited: [145, 54, 34], full: [150, 44, 21] },
  { limited: [41, 240, 110], full: [29, 255, 108] },
] as const;

/** Means of the planes of our picture of this frame. */
function planeMeans(engine: Engine, frame: SourceFrame, shape = fitScreen): number[] {
  const transcoder = makeTranscoder(engine);
  const { bytes: jpeg } = onlyPicture(transcoder, frame, shape);
  transcoder.close();
  const decoder = new Decoder(engine, 'mjpeg', size);
  assert.equal(decoder.decode(jpeg), 'decoded');
  const { width, height, linesize, data } = decoder.frame;
  const means = (data ?? []).map((plane, index) => {
    const half = index === 0 ? 1 : 2;
    const [columns, rows] = [Math.ceil(width / half), Math.ceil(height / half)];
    let sum = 0;
    for (let row = 0; row < rows; row += 1)
      for (let column = 0; column < columns; column += 1)
        sum += plane[row * (linesize[index] ?? 0) + column] ?? 0;
    return sum / (columns * rows);
  });
  decoder.close();
  return means;
}

function assertNear(means: readonly number[], expected: readonly number[]): void {
  assert.equal(means.length, 3);
  for (const [plane, mean] of means.entries())
    assert(Math.abs(mean - (expected[plane] ?? -99)) <= 3, `${means.join()} is not ${expected.join()}`);
}

for (const { limited, full } of colours) {
  const [y, u, v] = limited;
  engineTest(`I420 of ${limited.join(' ')} is ${full.join(' ')} in the JPEG`, (engine) => {
    const frame = sourceFrame('i420', plainPicture(size, y, u, v), size);
    assertNear(planeMeans(engine, frame), full);
    assertNear(planeMeans(engine, frame, ownSize), full);
  });

  engineTest(`H.264 of ${limited.join(' ')}, limited range, is ${full.join(' ')} in the JPEG`, (engine) => {
    const [frame] = encodeFilm(engine, size, [plainPicture(size, y, u, v)]);
    assert(frame !== undefined);
    assertNear(planeMeans(engine, frame), full);
  });
}

engineTest('a JPEG made again keeps its colours', (engine) => {
  const transcoder = makeTranscoder(engine);
  const planar = sourceFrame('i420', movingPicture(size, 3), size);
  const once = onlyPicture(transcoder, planar, ownSize);
  transcoder.close();
  assertNear(
    planeMeans(engine, sourceFrame('mjpeg', once.bytes), ownSize),
    planeMeans(engine, planar, ownSize),
  );
});
