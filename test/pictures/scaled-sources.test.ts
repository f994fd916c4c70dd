/**
 * Our pictures compared with FFmpeg's own scaling of the same frames: every colour sampling, odd sizes, and every way to tag, or not to
 * tag, the colours of a stream. Source: calls-and-media.md, Resolution.
 */
import { after, test } from 'node:test';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { ofLandscape, ofOdd, ofPadded, ofPortrait, ofSmall } from './expectations.ts';
import { FilmLibrary } from './films.ts';
import { provePictures } from './prove-pictures.ts';
import type { Expectation } from './reference.ts';
import type { Recipe } from './sources.ts';

const kv = new FilmLibrary(temporaryDirectory({ after }));
const landscape = { width: 640, height: 480 } as const;
const portrait = { width: 240, height: 320 } as const;
const odd = { width: 639, height: 479 } as const;
const small = { width: 176, height: 144 } as const;
const films = ['edges', 'bars', 'gradients'] as const;
const samplings = ['yuv420p', 'yuv422p', 'yuv444p'] as const;
const bt709 = { matrix: 'bt709', isTagged: true } as const;

type Case = readonly [
  name: string,
  recipe: Omit<Recipe, 'film'> & Partial<Recipe>,
  of: readonly Expectation[],
];
const cases: readonly Case[] = [
  ...samplings.flatMap((pixels): Case[] => [
    [`MJPEG of ${pixels}`, { ...landscape, format: 'mjpeg', pixels }, ofLandscape],
    [`MJPEG of ${pixels} with odd sides`, { ...odd, format: 'mjpeg', pixels }, ofOdd],
  ]),
  ['MJPEG that is taller than wide', { ...portrait, format: 'mjpeg' }, ofPortrait],
  ['MJPEG that is smaller than the screen', { ...small, format: 'mjpeg' }, ofSmall],
  ['I420 is BT.601 of limited range', { ...landscape, format: 'i420' }, ofLandscape],
  ['I420 with odd sides', { ...odd, format: 'i420' }, ofOdd],
  ['H.264 that says nothing is BT.601 of limited range', { ...landscape, format: 'h264' }, ofLandscape],
  ['H.264 that says BT.709 is converted', { ...landscape, format: 'h264', ...bt709 }, ofLandscape],
  [
    'H.264 that says BT.601, taller than wide',
    { ...portrait, format: 'h264', matrix: 'bt601', isTagged: true },
    ofPortrait,
  ],
  [
    'H.264 that says full range keeps it',
    { ...portrait, format: 'h264', range: 'pc', isTagged: true },
    ofPortrait,
  ],
  [
    'H.264 that says BT.709 of full range',
    { ...landscape, format: 'h264', ...bt709, range: 'pc' },
    ofLandscape,
  ],
  ['H.264 of no whole number of blocks', { width: 638, height: 478, format: 'h264' }, ofPadded],
  ['H.264 that is smaller than the screen', { ...small, format: 'h264' }, ofSmall],
  ['H.265 that says nothing of its colours', { ...landscape, format: 'h265' }, ofLandscape],
  ['H.265 that says BT.709, taller than wide', { ...portrait, format: 'h265', ...bt709 }, ofPortrait],
  ...films.flatMap((film): Case[] => [
    [`MJPEG of ${film}`, { film, ...landscape, format: 'mjpeg' }, ofLandscape],
    [`H.264 of ${film}`, { film, ...landscape, format: 'h264' }, ofLandscape],
  ]),
];

for (const [name, recipe, expectations] of cases)
  test(name, (t) => provePictures(t, kv, { film: 'photographs', ...recipe }, expectations));
