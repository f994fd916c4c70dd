/**
 * The show that a simulated bridge plays to a call, by the request of the server and by its own options: format, rate, and
 * the sizes of its pictures, as people type them and as each has its turn.
 */
import { InvalidArgumentError } from 'commander';
import type { Clock } from '../../lib/clock.ts';
import type { Engine } from '../../media/codec/engine.ts';
import type { Size } from '../../model/call.ts';
import { soundShape, type StartText } from '../simulator/media-leg.ts';
import { BridgePlayback, type FilmShow, type FrameSink, type PlaybackTally } from './bridge-playback.ts';
import type { Film } from './test-picture.ts';
import { openFrameCoder, type PlayedFormat } from './frame-coder.ts';
import { sizeInWords, type BridgeLogger } from './bridge-report.ts';
import { assert } from '../../lib/assert.ts';
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import { openTone } from './tone.ts';
import { sourceSideMax } from '../../model/limits.ts';

export interface ShowPlan {
  readonly format: PlayedFormat;
  /** Null: as it is asked for. */
  readonly sizes: readonly Size[] | null;
  /** Milliseconds after which the next size comes; null: the first one stays. */
  readonly changeEveryMs: number | null;
  /** Whole; null: as it is asked for, but no more than the film has. */
  readonly framesPerSecond: number | null;
  /** `told`: as the call asks for it; null: none is played. */
  readonly tone: AudioFrameFormat | 'told' | null;
  openFilm(): Film;
}

export interface ShowDeps {
  readonly clock: Clock;
  /** Null: only I420 can be played. */
  readonly engine: Engine | null;
  readonly tally: PlaybackTally;
  readonly logger: BridgeLogger;
}

/** Begins at once; `sink` is the call. */
export function beginShow(
  { clock, engine, tally, logger }: ShowDeps,
  plan: ShowPlan,
  { request, audio }: StartText,
  sendQueue: FrameSink,
): BridgePlayback {
  const film = request === null ? null : filmShow(engine, plan, request);
  const tone = plan.tone === null ? null : openTone(engine, soundShape(plan.tone, audio));
  if (tone?.ok === false) logger.trouble(`no tone is played: ${tone.error}`);
  if (tone?.ok === true) {
    const { format } = tone.value;
    logger.notify('playing_tone', { format, told: audio.format }, `plays a tone as ${format}`);
  }
  if (film !== null) {
    const { framesPerSecond, coder } = film;
    const size = sizeInWords(film.sizeAt(0));
    const json = { format: coder.format, frames_per_second: framesPerSecond, size };
    logger.notify('playing', json, `plays ${coder.format} ${size}, ${framesPerSecond} frames a second`);
  }
  return new BridgePlayback(clock, { film, tone: tone?.ok === true ? tone.value : null }, sendQueue, tally);
}

export function filmShow(
  engine: Engine | null,
  plan: Omit<ShowPlan, 'tone'>,
  request: NonNullable<StartText['request']>,
): FilmShow {
  const film = plan.openFilm();
  const asked = Math.min(request.max_fps, Math.round(film.framesPerSecond ?? Infinity));
  const framesPerSecond = plan.framesPerSecond ?? Math.max(1, asked);
  const sizes = plan.sizes ?? [request];
  return {
    film,
    framesPerSecond,
    coder: openFrameCoder(engine, plan.format, framesPerSecond),
    sizeAt: (atMs) => {
      const { width, height } = sizeAt(sizes, plan.changeEveryMs, atMs);
      return { width, height };
    },
  };
}

const sideMin = 16;

/** `320x240,240x320`: at least one. Sides are even, as 4:2:0 wants them. Throws InvalidArgumentError. */
export function parseSizes(text: string): readonly Size[] {
  return text.split(',').map(parseSize);
}

function parseSize(text: string): Size {
  const [, width, height] = /^(\d{1,5})[x×](\d{1,5})$/.exec(text) ?? [];
  const size = { width: Number(width), height: Number(height) };
  const isGood = (side: number): boolean => side >= sideMin && side <= sourceSideMax && side % 2 === 0;
  if (isGood(size.width) && isGood(size.height)) return size;
  throw new InvalidArgumentError(
    `Expected sizes like 320x240 or 320x240,240x320 with even sides from ${sideMin} to ${sourceSideMax}.`,
  );
}

/** One after the other, each for `everyMs`, and again from the first; null: the first for good. `sizes`: at least one. */
function sizeAt(sizes: readonly Size[], everyMs: number | null, atMs: number): Size {
  const turn = everyMs === null ? 0 : Math.floor(atMs / everyMs) % sizes.length;
  const size = sizes[turn];
  assert(size !== undefined, 'there is a size to choose');
  return size;
}
