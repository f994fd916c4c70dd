/**
 * Damaged and unusual streams and pictures: a call shows as many as FFmpeg or djpeg do, and they look alike. A JPEG that is cut
 * in its scan is not shown. Source: calls-and-media.md, Resolution.
 */
import assert from 'node:assert/strict';
import { planPicture } from '../../src/media/geometry/picture-plan.ts';
import type { PictureShape } from '../../src/model/media/picture.ts';
import { engineTest } from '../support/engine-test.ts';
import { decodeJpegs } from './reference.ts';
import { jpegsShown, leastRatios, outputOf, planesShown } from './shown-pictures.ts';
import { unusualJpegs } from './unusual-jpegs.ts';
import { streamSize, unusualStreams } from './unusual-streams.ts';

/** In dB: of the coding alone it is 46 and more, of a decoding at a quarter of the sides 42. */
const ratioMin = 40;

for (const { name, format, messages, keptBack, isPaintedOver } of unusualStreams())
  engineTest(`${name} is shown as by FFmpeg`, async (engine, t) => {
    const ours = jpegsShown(engine, format, messages, { mode: 'auto', screen: null });
    const demuxer = format === 'h265' ? 'hevc' : format;
    const theirs = planesShown(['-f', demuxer], Buffer.concat(messages), streamSize);
    const ratios = leastRatios(await decodeJpegs(ours, streamSize), theirs);
    t.diagnostic(`FFmpeg ${theirs.length}, ours ${ours.length}, ${ratios.join(' ')} dB`);
    assert.ok(
      ours.length > 0 && ours.length >= theirs.length - (keptBack ?? 0),
      `${ours.length} of ${theirs.length}`,
    );
    if (isPaintedOver !== true && ours.length <= theirs.length)
      assert.ok(Math.min(...ratios) >= ratioMin, ratios.join());
  });

for (const { name, bytes, plain, isCut, size } of unusualJpegs())
  engineTest(`a JPEG, ${name}, is ${isCut ? 'not shown' : 'shown as by FFmpeg'}`, async (engine) => {
    const quarter = { width: size.width >> 2, height: size.height >> 2 };
    const byFfmpeg = planesShown(['-f', 'image2pipe', '-c:v', 'mjpeg'], plain, size).length;
    const byDjpeg = outputOf('djpeg', [], plain).length;
    assert.ok(byFfmpeg + byDjpeg > 0, 'the plain picture is one');
    for (const screen of [size, quarter, { width: 200, height: 200 }]) {
      const shape: PictureShape = { mode: 'fit_screen', screen };
      const ours = jpegsShown(engine, 'mjpeg', [bytes], shape);
      assert.equal(ours.length, isCut ? 0 : 1);
      const output = planPicture(size, shape)?.output;
      if (isCut || output === undefined) continue;
      const whole = `crop=${size.width}:${size.height}:0:0:exact=1`;
      const theirs = planesShown(['-f', 'image2pipe', '-c:v', 'mjpeg'], plain, output, [whole]);
      const ratios = leastRatios(await decodeJpegs(ours, output), theirs);
      assert.ok(Math.min(...ratios) >= ratioMin, `${output.width}x${output.height}: ${ratios.join()}`);
    }
  });
