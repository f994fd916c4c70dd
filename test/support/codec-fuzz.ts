/**
 * Frames broken in every way that comes to mind, between good ones, through one transcoder after another. Nothing may
 * crash, natives stay as many as a session needs, and the good frames behind the bad ones have the very pictures that a
 * transcoder gives which has seen nothing else.
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
  takeFrame,
} from './coded-frames.ts';
import { chanceFrom, type Chance } from './seeded-random.ts';

type Transcoder = Pick<FrameTranscoder, 'take' | 'close'>;

export interface CodecFuzz {
  readonly engine: Engine;
  readonly seed: number;
  readonly clock: Clock;
  readonly seconds: number;
  /** Under test; the canary's is a faulty one. */
  readonly open?: (engine: Engine) => Transcoder;
}

export interface CodecFuzzReport {
  readonly frames: number;
  readonly sessions: number;
  /** Of the hostile frames: how many had a picture all the same. */
  readonly pictured: number;
  readonly comparisons: number;
  /** Most natives at once. */
  readonly nativesMax: number;
  readonly residentBytes: { readonly first: number; readonly last: number };
}

const shapes = [fitScreen, fillScreen, ownSize];
/** What H.264 looks like depends on what was made before, so that good frames are compared as JPEGs alone. */
const hostileShapes = [...shapes, ownSizeH264];
/** What two transcoders hold with three shapes each, and nothing that could add up. */
const nativesMax = 40;
const sessionRounds = 20;
const hostileFramesMax = 8;

/** Rejects at the first thing that is wrong, and says by which seed and round it comes again. */
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
    // What was collected of native wrappers is given back by the event loop.
    await setImmediate();
  }
  return { ...report, residentBytes: { first, last: process.memoryUsage.rss() } };
}

interface Film {
  readonly frames: readonly SourceFrame[];
  /** Of a transcoder that has seen nothing else. */
  readonly results: readonly FrameResult['pictures'][];
}

type Counts = { -readonly [Key in keyof Omit<CodecFuzzReport, 'residentBytes'>]: number };

/** Every film begins with a frame that can be started at. */
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
    const results = frames.map((frame) => takeFrame(fresh, frame, shapes).pictures);
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
  for (const frame of film.frames.slice(0, began)) takeFrame(transcoder, frame, []);
  for (let left = chance.below(hostileFramesMax); left > 0; left -= 1) {
    const frame = brokenFrame(pick(pick(films, chance).frames, chance), chance);
    const wanted = hostileShapes.slice(chance.below(hostileShapes.length));
    const result = takeFrame(transcoder, frame, wanted, chance.below(2) === 0);
    checkResult(result);
    counts.frames += 1;
    counts.pictured += Number(result.pictures.some((picture) => typeof picture === 'object'));
    counts.nativesMax = Math.max(counts.nativesMax, countNatives());
    assert(counts.nativesMax <= nativesMax, `${counts.nativesMax} natives live`);
  }
  const next = pick(films, chance);
  for (const [index, frame] of next.frames.entries()) {
    const { pictures } = takeFrame(transcoder, frame, shapes);
    // Told in a word: the difference of two JPEGs is of no use to anybody.
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
