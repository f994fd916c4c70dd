/**
 * The film and tone that a simulated bridge plays to a call: format, frame rate and sizes, from the server's request and the
 * options of the command.
 */
import { InvalidArgumentError } from 'commander';
import type { Engine } from '../../media/codec/engine.ts';
import type { Size } from '../../model/call.ts';
import { soundShape, type StartText } from '../simulator/media-leg.ts';
import { BridgePlayback, type FilmShow, type FrameSink, type PlaybackTally } from './bridge-playback.ts';
import type { Film } from './test-picture.ts';
import { FrameCoder } from './frame-coder.ts';
import { sizeInWords } from './call-report.ts';
import { assert } from '../../lib/assert.ts';
import type { PictureFormat } from '../../model/media/picture.ts';
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import { SimulatedBridge, type BridgeDeps } from './simulated-bridge.ts';
import { reportTrouble } from './simulated-call.ts';
import { openTone } from './tone.ts';
import { sourceSideMax } from '../../model/limits.ts';

export interface ShowPlan {
  readonly format: PictureFormat;
  /** Several alternate, like a phone that is rotated; null: the requested size. */
  readonly sizes: readonly Size[] | null;
  /** `requested`: the format of the call; null: no tone. */
  readonly tone: AudioFrameFormat | 'requested' | null;
  openFilm(): Film;
}

export interface PlayingBridgeDeps extends Omit<BridgeDeps, 'play'> {
  readonly engine: Engine | null;
  readonly tally: PlaybackTally;
  readonly plan: ShowPlan;
}

export function playingBridge(deps: PlayingBridgeDeps, session: string | null): SimulatedBridge {
  return new SimulatedBridge({ ...deps, play: (start, leg) => beginShow(deps, start, leg) }, session);
}

function beginShow(
  { clock, engine, tally, onEvent, plan }: PlayingBridgeDeps,
  { request, audio }: StartText,
  sendQueue: FrameSink,
): BridgePlayback {
  const film = request === null || engine === null ? null : filmShow(engine, plan, request);
  const tone = plan.tone === null ? null : openTone(engine, soundShape(plan.tone, audio));
  if (tone?.ok === false) reportTrouble(onEvent, `no tone is played: ${tone.error}`);
  if (tone?.ok === true) {
    const { format } = tone.value;
    onEvent('playing_tone', { format, told: audio.format }, `plays a tone as ${format}`);
  }
  if (film !== null) {
    const { framesPerSecond, coder } = film;
    const size = sizeInWords(film.sizeAt(0));
    const json = { format: coder.format, frames_per_second: framesPerSecond, size };
    onEvent('playing', json, `plays ${coder.format} ${size}, ${framesPerSecond} frames a second`);
  }
  return new BridgePlayback(clock, { film, tone: tone?.ok === true ? tone.value : null }, sendQueue, tally);
}

export function filmShow(
  engine: Engine,
  plan: Omit<ShowPlan, 'tone'>,
  request: NonNullable<StartText['request']>,
): FilmShow {
  const film = plan.openFilm();
  const framesPerSecond = Math.max(
    1,
    Math.min(request.max_fps, Math.round(film.framesPerSecond ?? Infinity)),
  );
  const sizes = plan.sizes ?? [request];
  return {
    film,
    framesPerSecond,
    coder: new FrameCoder(engine, plan.format, framesPerSecond),
    sizeAt: (atMs) => {
      const { width, height } = sizeAt(sizes, atMs);
      return { width, height };
    },
  };
}

const sideMin = 16;

/** Parses `320x240,240x320`: at least one size, with even sides for 4:2:0. Throws InvalidArgumentError. */
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

const turnMs = 5000;

/** Cycles through `sizes`, at least one. */
function sizeAt(sizes: readonly Size[], atMs: number): Size {
  const size = sizes[Math.floor(atMs / turnMs) % sizes.length];
  assert(size !== undefined, 'sizes is not empty');
  return size;
}
