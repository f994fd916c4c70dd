/**
 * Colours from end to end: djpeg shows the colours that were filmed, and grey stays grey. The only other conversion is FFmpeg's from
 * RGB, when the source is made.
 */
import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import { runTool } from '../support/debian-tools.ts';
import { decodeByDjpeg, meanDifference } from '../support/pixel-map.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { ofLandscape } from './expectations.ts';
import { FilmLibrary } from './films.ts';
import { ourPictures } from './our-pictures.ts';
import { decodeJpegs } from './reference.ts';
import { makeSource, type Recipe } from './sources.ts';

/** On a scale of 255. Coding with a quarter of the colours costs about 1. */
const differenceMax = 2;
const kv = new FilmLibrary(temporaryDirectory({ after }));
const size = { width: 640, height: 480 } as const;

const codings: Readonly<Record<string, Partial<Recipe> & Pick<Recipe, 'format'>>> = {
  'H.264 that says nothing': { format: 'h264' },
  'H.264 that says BT.709': { format: 'h264', matrix: 'bt709', isTagged: true },
  'H.264 that says full range': { format: 'h264', range: 'pc', isTagged: true },
  'H.265 that says BT.709': { format: 'h265', matrix: 'bt709', isTagged: true },
  MJPEG: { format: 'mjpeg' },
  I420: { format: 'i420' },
};

/** Difference between the first picture as djpeg shows it and as it was filmed. */
async function differenceOf(t: TestContext, recipe: Recipe): Promise<number> {
  const source = await makeSource(temporaryDirectory(t), kv, recipe);
  const [[jpeg = new Uint8Array()] = []] = await ourPictures(source, ofLandscape);
  const { samples } = await decodeByDjpeg(jpeg);
  const film = ['-i', await kv.film(recipe.film), '-frames:v', '1'];
  const raw = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', 'pipe:1'];
  const difference = meanDifference(samples, await runTool('ffmpeg', ['-v', 'error', ...film, ...raw]));
  t.diagnostic(`they differ by ${difference.toFixed(2)}`);
  return difference;
}

for (const [name, coding] of Object.entries(codings))
  for (const film of ['bars', 'gradients'] as const)
    test(`${film} keep their colours through ${name}`, async (t) => {
      assert.ok((await differenceOf(t, { film, ...size, ...coding })) < differenceMax);
    });

test('bars in BT.709 without a tag differ', async (t) => {
  const unsaid = { film: 'bars', ...size, format: 'h264', matrix: 'bt709' } as const;
  assert.ok((await differenceOf(t, unsaid)) > differenceMax);
});

test('grey stays grey in every size', async () => {
  const luma = new Uint8Array(640 * 480).fill(126);
  const payload = new Uint8Array(Buffer.concat([luma, new Uint8Array((640 * 480) / 2).fill(128)]));
  const frame: SourceFrame = { format: 'i420', isKeyFrame: true, ...size, payload };
  const jpegs = await ourPictures({ ...size, frames: [frame] }, ofLandscape);

  for (const [index, { shape, output }] of ofLandscape.entries()) {
    const [planes] = await decodeJpegs(jpegs[index] ?? [], output);
    assert(planes !== undefined);
    for (const { samples } of [planes.U, planes.V])
      assert.deepEqual([...new Set(samples)], [128], `${shape.mode}: no colour is 128`);
    assert.ok(
      planes.Y.samples.every((sample) => sample === 128),
      `${shape.mode}: (126 - 16) * 255 / 219`,
    );
  }
});
