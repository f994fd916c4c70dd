/**
 * Damaged and unusual JPEGs: a call shows the same as FFmpeg or djpeg, and it looks alike at its own size, at a quarter and in between.
 * A JPEG that is cut in its scan is not shown. Source: calls-and-media.md, Resolution.
 */
import assert from 'node:assert/strict';
import { planPicture } from '../../src/media/geometry/picture-plan.ts';
import type { PictureShape } from '../../src/model/media/picture.ts';
import { engineTest } from '../support/engine-test.ts';
import type { Planes } from '../support/planes.ts';
import { decodeJpegs } from './reference.ts';
import { jpegsShown, leastRatios, planesShown } from './shown-pictures.ts';
import { unusualJpegs } from './unusual-jpegs.ts';

/** In dB; decoding at a quarter of the sides costs down to 42. */
const ratioMin = 40;

/** By plain picture and size. */
const references = new Map<Uint8Array, Map<string, Planes[]>>();

for (const { name: title, bytes, plain, isCut = false, size } of unusualJpegs())
  engineTest(`a JPEG, ${title}, is ${isCut ? 'not shown' : 'shown as by FFmpeg'}`, async (engine, t) => {
    const quarter = { width: size.width >> 2, height: size.height >> 2 };
    for (const screen of [size, quarter, { width: 200, height: 200 }]) {
      const shape: PictureShape = { mode: 'fit_screen', screen };
      const ours = jpegsShown(engine, 'mjpeg', [bytes], shape);
      assert.equal(ours.length, isCut ? 0 : 1);
      const output = planPicture(size, shape)?.output;
      if (isCut || output === undefined) continue;
      const whole = `crop=${size.width}:${size.height}:0:0:exact=1`;
      const name = `${output.width}x${output.height}`;
      const known = references.get(plain)?.get(name);
      const theirs = known ?? planesShown(['-f', 'image2pipe', '-c:v', 'mjpeg'], plain, output, [whole]);
      references.set(plain, (references.get(plain) ?? new Map<string, Planes[]>()).set(name, theirs));
      assert.equal(theirs.length, 1);
      const ratios = leastRatios(await decodeJpegs(ours, output), theirs);
      t.diagnostic(`${name}: ${ratios.join(' ')} dB`);
      assert.ok(Math.min(...ratios) >= ratioMin, ratios.join());
    }
  });
