/**
 * Feeds one transcoder after another with corrupted frames between good ones. Nothing may crash, native objects stay as many as
 * a session needs, and good frames after bad ones yield exactly the pictures of a transcoder that has decoded nothing else.
 */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../src/lib/clock.ts';
import type { Engine } from '../../src/media/codec/engine.ts';
import type { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import { liveNatives } from '../../src/media/codec/native-census.ts';
import { mediaFrameResults, type FrameResult, type SourceFrame } from '../../src/model/media/picture.ts';
import { h264 } from '../../src/media/geometry/h264-stream.ts';
import { describeCodedFrame } from '../../src/media/geometry/nal-units.ts';
import { jpegSize } from '../../src/media/geometry/jpeg.ts';
import { brokenFrame } from './broken-frames.ts';
import {
  fillScreen,
  fitScreen,
  h264Film,
  jpegFilm,
  makeTranscoder,
  ownSize,
  ownSizeH264,
  planarFrame,
  transcodeFrame,
} from './coded-frames.ts';
import { chanceFrom, type Chance } from './seeded-random.ts';

type Transcoder = Pick<FrameTranscoder, 'transcode' | 'close'>;

export interface CodecFuzz {
  readonly engine: Engine;
  readonly seed: number;
  readonly clock: Clock;
  readonly seconds: number;
  /** Opens the transcoder under test; the canary's is faulty. */
  readonly open?: (engine: Engine) => Transcoder;
}

export interface CodecFuzzReport {
  readonly frames: number;
  readonly sessions: number;
  /** Number of hostile frames that yielded a picture. */
  readonly pictured: number;
  readonly comparisons: number;
  /** Maximum number of native objects alive at once. */
  readonly nativesMax: number;
  readonly residentBytes: { readonly first: number; readonly last: number };
}

const shapes = [fitScreen, fillScreen, ownSize];
/** An H.264 picture depends on earlier frames, so good frames are compared only as JPEG. */
const hostileShapes = [...shapes, ownSizeH264];
/** Native objects of two transcoders with three shapes each; a leak exceeds it. */
const nativesMax = 40;
const sessionRounds = 20;
const hostileFramesMax = 8;

/** Rejects at the first fault, with the seed and round that reproduce it. */
export async function fuzzCodec(fuzz: CodecFuzz): Promise<CodecFuzzReport> {
  const { engine, seed, clock, seconds, open = makeTranscoder } = fuzz;
  const chance = chanceFrom(seed);
  const films = makeFilms(engine);
  const before = countNatives();
  const report = { frames: 0, sessions: 0, pictured: 0, comparisons: 0, nativesMax: 0 };
  const endMs = clock.monotonicMs() + seconds * 1000;
  const first = process.memoryUsage.rss();
  while (clock.monotonicMs() < endMs) {
    const transcoder = open(engine);
    report.sessions += 1;
    try {
      for (let round = 0; round < sessionRounds; round += 1)
        playRound(transcoder, films, chance, engine, report);
    } catch (error) {
      throw new Error(`seed ${seed}, session ${report.sessions}`, { cause: error });
    }
    transcoder.close();
    assert.equal(countNatives(), before, `natives left behind by session ${report.sessions} of seed ${seed}`);
    // The event loop frees natives whose wrappers were collected.
    await setImmediate();
  }
  return { ...report, residentBytes: { first, last: process.memoryUsage.rss() } };
}

interface Film {
  readonly frames: readonly SourceFrame[];
  /** Pictures of a transcoder that has decoded nothing else. */
  readonly results: readonly FrameResult['pictures'][];
}

type Counts = { -readonly [Key in keyof Omit<CodecFuzzReport, 'residentBytes'>]: number };

function makeFilms(engine: Engine): readonly Film[] {
  const small = { width: 96, height: 64 };
  const portrait = { width: 72, height: 128 };
  const films = [
    h264Film(engine, small, 4),
    h264Film(engine, portrait, 6, [0, 3]),
    jpegFilm(engine, small, 3),
    jpegFilm(engine, portrait, 2),
    [planarFrame({ width: 33, height: 47 })],
    [planarFrame(small, 5), planarFrame(small, 6)],
  ];
  return films.map((frames) => {
    const fresh = makeTranscoder(engine);
    const results = frames.map((frame) => transcodeFrame(fresh, frame, shapes).pictures);
    fresh.close();
    return { frames, results };
  });
}

function playRound(
  transcoder: Transcoder,
  films: readonly Film[],
  chance: Chance,
  engine: Engine,
  counts: Counts,
): void {
  const film = pick(films, chance);
  const began = chance.below(film.frames.length + 1);
  for (const frame of film.frames.slice(0, began)) transcodeFrame(transcoder, frame, []);
  for (let left = chance.below(hostileFramesMax); left > 0; left -= 1) {
    const frame = brokenFrame(pick(pick(films, chance).frames, chance), chance);
    const wanted = hostileShapes.slice(chance.below(hostileShapes.length));
    const result = transcodeFrame(transcoder, frame, wanted, chance.below(2) === 0);
    checkResult(result);
    counts.frames += 1;
    counts.pictured += Number(result.pictures.some((picture) => typeof picture === 'object'));
    counts.nativesMax = Math.max(counts.nativesMax, countNatives());
    assert(counts.nativesMax <= nativesMax, `${counts.nativesMax} natives live`);
  }
  const next = pick(films, chance);
  for (const [index, frame] of next.frames.entries()) {
    const { pictures } = transcodeFrame(transcoder, frame, shapes);
    // Compared as a boolean: a diff of two JPEGs helps nobody.
    const isRight = isDeepStrictEqual(pictures, next.results[index]);
    assert(isRight, `good frame ${index} of ${frame.format} after bad ones`);
    counts.comparisons += 1;
  }
  assert.equal(engine.av.Log.getLevel(), engine.constants.AV_LOG_QUIET);
}

function checkResult({ source, pictures, drop }: FrameResult): void {
  assert(drop === null || mediaFrameResults.includes(drop), `no drop: ${drop}`);
  const isDecoded = source !== null;
  assert(isDecoded ? drop === null : pictures.length === 0, 'pictures of a frame that was not decoded');
  for (const picture of pictures)
    if (typeof picture === 'string') assert(mediaFrameResults.includes(picture), `no drop: ${picture}`);
    else if (picture.format === 'mjpeg') assert.deepEqual(jpegSize(picture.bytes), picture.size);
    else assert.equal(describeCodedFrame(picture.bytes, h264).hasKey, picture.isKey);
}

function pick<Item>(items: readonly Item[], chance: Chance): Item {
  const item = items[chance.below(items.length)];
  assert(item !== undefined);
  return item;
}

function countNatives(): number {
  return Object.values(liveNatives()).reduce((sum: number, count: number) => sum + count, 0);
}
