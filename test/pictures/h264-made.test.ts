/**
 * H.264 made of a device's video for a bridge that requests it, judged by its players: ffprobe and ffmpeg describe it, and its pictures
 * are compared with FFmpeg's own conversion of the same frames. Source: calls-and-media.md, Resolution.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { openEngine } from '../../src/media/codec/engine.ts';
import { liveNatives } from '../../src/media/codec/native-census.ts';
import type { Size } from '../../src/model/call.ts';
import {
  jpegFilm,
  makeTranscoder,
  ownSizeH264,
  planarFrame,
  transcodeFrame,
} from '../support/coded-frames.ts';
import { runTool } from '../support/debian-tools.ts';
import { splitPlanes, type Planes } from '../support/planes.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { FilmLibrary } from './films.ts';
import { judgePictures } from './judgement.ts';
import { ourPictures } from './our-pictures.ts';
import { referencePlanes, type Expectation } from './reference.ts';
import { makeSource, type Recipe } from './sources.ts';

const kv = new FilmLibrary(temporaryDirectory({ after }));
/** Each photograph lasts two frames, so that every other frame is a cut, and gets fewer bits than it needs. */
const similarityMin = { photographs: 0.9, edges: 0.9, bars: 0.97, gradients: 0.97 };

function ownSize(width: number, height: number): Expectation {
  return { shape: ownSizeH264, crop: { x: 0, y: 0, width, height }, output: { width, height } };
}

async function provePlayable(t: TestContext, recipe: Recipe, output: Size): Promise<void> {
  const directory = temporaryDirectory(t);
  const source = await makeSource(directory, kv, recipe);
  const expectation = ownSize(output.width, output.height);
  const [units = []] = await ourPictures(source, [expectation]);
  assert.deepEqual(await probed(directory, units), [
    `h264,Constrained Baseline,${output.width},${output.height},0,yuv420p,tv,smpte170m,${units.length}`,
  ]);
  const [reference = []] = await referencePlanes(directory, source, [expectation]);
  const { complaints, measured } = judgePictures(
    await decoded(units, output),
    reference,
    similarityMin[recipe.film],
  );
  t.diagnostic(measured);
  assert.deepEqual(complaints, []);
}

/** One line per stream. */
async function probed(directory: string, units: readonly Uint8Array[]): Promise<string[]> {
  const path = join(directory, 'made.h264');
  writeFileSync(path, Buffer.concat(units));
  const fields =
    'codec_name,profile,width,height,has_b_frames,pix_fmt,color_range,color_space,nb_read_frames';
  const entries = ['-count_frames', '-show_entries', `stream=${fields}`, '-of', 'csv=p=0'];
  return (await runTool('ffprobe', ['-v', 'error', ...entries, path])).toString().trim().split('\n');
}

async function decoded(units: readonly Uint8Array[], size: Size): Promise<Planes[]> {
  const input = ['-xerror', '-err_detect', 'explode', '-f', 'h264', '-i', 'pipe:0'];
  const output = ['-pix_fmt', 'yuv420p', '-fps_mode', 'passthrough', '-f', 'rawvideo', 'pipe:1'];
  return splitPlanes(
    await runTool('ffmpeg', ['-v', 'error', ...input, ...output], Buffer.concat(units)),
    size,
  );
}

const landscape = { film: 'photographs', width: 640, height: 480 } as const;

test('H.264 made of MJPEG is playable', (t) =>
  provePlayable(t, { ...landscape, format: 'mjpeg' }, landscape));

test('H.264 made of MJPEG without subsampled colours is playable', (t) =>
  provePlayable(t, { ...landscape, format: 'mjpeg', pixels: 'yuv444p' }, landscape));

test('H.264 made of MJPEG with odd sides is playable', (t) =>
  provePlayable(t, { ...landscape, format: 'mjpeg', width: 639, height: 479 }, { width: 638, height: 478 }));

test('H.264 made of H.265 without colour tags is playable', (t) =>
  provePlayable(t, { ...landscape, format: 'h265' }, landscape));

test('H.264 made of H.265 tagged BT.709 of full range, in portrait, is playable', (t) => {
  const portrait = { width: 480, height: 640 };
  const colours = { matrix: 'bt709', range: 'pc', isTagged: true } as const;
  return provePlayable(t, { ...landscape, ...portrait, ...colours, format: 'h265' }, portrait);
});

test('H.264 made of I420 is playable', (t) => provePlayable(t, { ...landscape, format: 'i420' }, landscape));

for (const film of ['edges', 'bars', 'gradients'] as const)
  test(`H.264 made of MJPEG of ${film} is playable`, (t) =>
    provePlayable(t, { ...landscape, film, format: 'mjpeg' }, landscape));

test('a canary: the colours of a JPEG interpreted as those of H.264 are detected', async (t) => {
  const directory = temporaryDirectory(t);
  const source = await makeSource(directory, kv, { ...landscape, format: 'mjpeg' });
  const [units = []] = await ourPictures(source, [ownSize(640, 480)]);
  const whole: Expectation = { ...ownSize(640, 480), shape: { mode: 'auto', screen: null } };
  const [reference = []] = await referencePlanes(directory, source, [whole]);
  const { complaints } = judgePictures(await decoded(units, landscape), reference, 0);
  assert.match(complaints.join(), /Y gain/);
});

test('a new size at every frame, for hundreds of frames: each is a key frame, and all are played', async (t) => {
  const engine = await openEngine();
  assert(engine.ok);
  const before = liveNatives();
  const sizes = Array.from({ length: 300 }, (_, n) => ({
    width: 16 + ((n * 37) % 301),
    height: 16 + ((n * 53) % 251),
  }));
  const transcoder = makeTranscoder(engine.value);
  const units = sizes.map((size, n) => {
    const [jpeg] = jpegFilm(engine.value, size, 1);
    const frame = n % 2 === 0 && jpeg !== undefined ? jpeg : planarFrame(size, n);
    const { pictures, drop } = transcodeFrame(transcoder, frame, [ownSizeH264]);
    const [picture] = pictures;
    assert(drop === null && typeof picture === 'object' && picture.isKey, `frame ${n}: ${drop}`);
    return picture.bytes;
  });
  transcoder.close();
  assert.deepEqual(liveNatives(), before);
  const path = join(temporaryDirectory(t), 'sizes.h264');
  writeFileSync(path, Buffer.concat(units));
  const entries = ['-show_entries', 'frame=width,height,key_frame', '-of', 'csv=p=0'];
  const shown = (await runTool('ffprobe', ['-v', 'error', ...entries, path])).toString().trim().split('\n');
  assert.deepEqual(
    shown.filter((line) => line !== '').map((line) => line.replace(/,*$/, '')),
    sizes.map(({ width, height }) => `1,${width - (width % 2)},${height - (height % 2)}`),
  );
});
