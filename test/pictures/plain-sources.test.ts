/**
 * Our pictures of MJPEG and I420 against FFmpeg's own scaling of the same frames, with every sampling of colours and odd
 * sizes. Source: calls-and-media.md, Resolution.
 */
import { after, test } from 'node:test';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { ofLandscape, ofOdd, ofPortrait, ofSmall } from './expectations.ts';
import { FilmLibrary } from './films.ts';
import { provePictures } from './prove-pictures.ts';

const kv = new FilmLibrary(temporaryDirectory({ after }));
const landscape = { film: 'photographs', width: 640, height: 480 } as const;
const portrait = { film: 'photographs', width: 240, height: 320 } as const;
const odd = { film: 'photographs', width: 639, height: 479 } as const;

for (const pixels of ['yuv420p', 'yuv422p', 'yuv444p'] as const) {
  test(`MJPEG of ${pixels}`, (t) =>
    provePictures(t, kv, { ...landscape, format: 'mjpeg', pixels }, ofLandscape));

  test(`MJPEG of ${pixels} with odd sides`, (t) =>
    provePictures(t, kv, { ...odd, format: 'mjpeg', pixels }, ofOdd));
}

test('MJPEG that is taller than wide', (t) =>
  provePictures(t, kv, { ...portrait, format: 'mjpeg' }, ofPortrait));

test('MJPEG that is smaller than the screen', (t) =>
  provePictures(t, kv, { ...landscape, format: 'mjpeg', width: 176, height: 144 }, ofSmall));

test('I420 is BT.601 of limited range', (t) =>
  provePictures(t, kv, { ...landscape, format: 'i420' }, ofLandscape));

test('I420 with odd sides', (t) => provePictures(t, kv, { ...odd, format: 'i420' }, ofOdd));

for (const film of ['edges', 'bars', 'gradients'] as const)
  test(`MJPEG of ${film}`, (t) =>
    provePictures(t, kv, { film, format: 'mjpeg', width: 640, height: 480 }, ofLandscape));
