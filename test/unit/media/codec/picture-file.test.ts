import assert from 'node:assert/strict';
import sharp from 'sharp';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import { decodeJpeg, encodePng } from '../../../../src/media/codec/picture-file.ts';
import { jpegFilm } from '../../../support/coded-frames.ts';
import { engineTest } from '../../../support/engine-test.ts';

const size = { width: 74, height: 100 };

engineTest('a JPEG has the pixels that another decoder sees, within rounding', async (engine) => {
  const before = liveNatives();
  const [frame] = jpegFilm(engine, size, 1);
  assert(frame !== undefined);
  const decoded = decodeJpeg(engine, frame.payload);
  const other = await sharp(frame.payload).raw().toBuffer();
  assert.deepEqual(decoded.size, size);
  assert.equal(decoded.rgb.length, other.length);
  const meanError =
    decoded.rgb.reduce((sum, sample, i) => sum + Math.abs(sample - (other[i] ?? 0)), 0) / other.length;
  assert(meanError < 3, `${meanError}`);
  assert.deepEqual(liveNatives(), before);
});

engineTest('what is no JPEG is refused', (engine) => {
  assert.throws(() => decodeJpeg(engine, new Uint8Array(50)), /no JPEG/);
});

engineTest('a PNG keeps every pixel', async (engine) => {
  const before = liveNatives();
  const rgb = Uint8Array.from({ length: 7 * 5 * 3 }, (_, i) => (i * 37) % 256);
  const png = encodePng(engine, { width: 7, height: 5 }, rgb);
  const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
  assert.deepEqual([info.width, info.height, info.channels], [7, 5, 3]);
  assert.deepEqual(new Uint8Array(data), rgb);
  assert.deepEqual(liveNatives(), before);
});
