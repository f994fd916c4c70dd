/**
 * Our pictures of H.264 and H.265 against FFmpeg's own scaling of the same stream, with every way a stream has to say,
 * or not to say, how its colours are meant. Source: calls-and-media.md, Resolution.
 */
import { after, test } from 'node:test';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { ofLandscape, ofPadded, ofPortrait, ofSmall } from './expectations.ts';
import { FilmLibrary } from './films.ts';
import { provePictures } from './prove-pictures.ts';

const kv = new FilmLibrary(temporaryDirectory({ after }));
const landscape = { film: 'photographs', width: 640, height: 480 } as const;
const portrait = { film: 'photographs', width: 240, height: 320 } as const;

test('H.264 that says nothing of its colours is BT.601 of limited range', (t) =>
  provePictures(t, kv, { ...landscape, format: 'h264' }, ofLandscape));

test('H.264 that says BT.709 is converted', (t) =>
  provePictures(t, kv, { ...landscape, format: 'h264', matrix: 'bt709', isTagged: true }, ofLandscape));

test('H.264 that says BT.601, taller than wide', (t) =>
  provePictures(t, kv, { ...portrait, format: 'h264', matrix: 'bt601', isTagged: true }, ofPortrait));

test('H.264 that says full range keeps it', (t) =>
  provePictures(t, kv, { ...portrait, format: 'h264', range: 'pc', isTagged: true }, ofPortrait));

test('H.264 that says BT.709 of full range', (t) =>
  provePictures(
    t,
    kv,
    { ...landscape, format: 'h264', matrix: 'bt709', range: 'pc', isTagged: true },
    ofLandscape,
  ));

test('H.264 of a size that is no whole number of blocks', (t) =>
  provePictures(t, kv, { ...landscape, format: 'h264', width: 638, height: 478 }, ofPadded));

test('H.264 that is smaller than the screen', (t) =>
  provePictures(t, kv, { ...landscape, format: 'h264', width: 176, height: 144 }, ofSmall));

test('H.265 that says nothing of its colours', (t) =>
  provePictures(t, kv, { ...landscape, format: 'h265' }, ofLandscape));

test('H.265 that says BT.709, taller than wide', (t) =>
  provePictures(t, kv, { ...portrait, format: 'h265', matrix: 'bt709', isTagged: true }, ofPortrait));

for (const film of ['edges', 'bars', 'gradients'] as const)
  test(`H.264 of ${film}`, (t) =>
    provePictures(t, kv, { film, format: 'h264', width: 640, height: 480 }, ofLandscape));
