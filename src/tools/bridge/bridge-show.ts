/**
 * The show that a simulated bridge plays to a call, by the request of the server and by its own options: format, rate, and
 * the sizes of its pictures, as people type them and as each has its turn; and a bridge that plays one.
 */
import type { ConnectionOptions } from 'node:tls';
import { InvalidArgumentError } from 'commander';
import type { Clock } from '../../lib/clock.ts';
import type { Engine } from '../../media/codec/engine.ts';
import type { Size } from '../../model/call.ts';
import { BridgeLeg, soundShape, type StartText } from '../simulator/media-leg.ts';
import type { LegCounts } from '../simulator/leg-counts.ts';
import { BridgePlayback, type FilmShow, type FrameSink, type PlaybackTally } from './bridge-playback.ts';
import type { Film } from './test-picture.ts';
import { FrameCoder } from './frame-coder.ts';
import { sizeInWords, type BridgeLogger } from './call-report.ts';
import { assert } from '../../lib/assert.ts';
import type { PictureFormat } from '../../model/media/picture.ts';
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import { SimulatedBridge } from './simulated-bridge.ts';
import type { UplinkPlan } from './simulated-call.ts';
import { openTone } from './tone.ts';
import { sourceSideMax } from '../../model/limits.ts';

export interface ShowPlan {
  readonly format: PictureFormat;
  /** Several take turns, as for a phone that is turned; null: the size that the server asks for. */
  readonly sizes: readonly Size[] | null;
  /** `told`: as the call asks for it; null: none is played. */
  readonly tone: AudioFrameFormat | 'told' | null;
  openFilm(): Film;
}

export interface ShowDeps {
  readonly clock: Clock;
  /** Null: no video is played. */
  readonly engine: Engine | null;
  readonly tally: PlaybackTally;
  readonly logger: BridgeLogger;
}

export interface PlayingBridgeDeps extends ShowDeps {
  /** URL of the media listener. */
  readonly url: string;
  readonly tls: ConnectionOptions | undefined;
  readonly key: string;
  readonly plan: ShowPlan;
  readonly uplink: UplinkPlan;
  /** Null: the phone joins when the device has accepted. */
  readonly answerAfterMs: number | null;
  /** Counts of what comes to the bridge. */
  readonly counts?: LegCounts;
}

/** `session`: the one call that it comes for; null: it takes one call after the other. */
export function playingBridge(deps: PlayingBridgeDeps, session: string | null): SimulatedBridge {
  const { clock, logger, uplink, answerAfterMs, url, tls, key, counts, plan } = deps;
  return new SimulatedBridge(
    {
      clock,
      logger,
      uplink,
      answerAfterMs,
      connect: (named, onKeyFrameWanted) =>
        BridgeLeg.connect({ url, tls, key, session: named ?? undefined, onKeyFrameWanted, counts }),
      play: (start, call) => beginShow(deps, plan, start, call),
    },
    { session, calls: session === null ? Infinity : 1 },
  );
}

/** Begins at once; `sink` is the call. */
function beginShow(
  { clock, engine, tally, logger }: ShowDeps,
  plan: ShowPlan,
  { request, audio }: StartText,
  sendQueue: FrameSink,
): BridgePlayback {
  const film = request === null || engine === null ? null : filmShow(engine, plan, request);
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

/** Each of several sizes is shown for this long. */
const turnMs = 5000;

/** One after the other, and again from the first. `sizes`: at least one. */
function sizeAt(sizes: readonly Size[], atMs: number): Size {
  const size = sizes[Math.floor(atMs / turnMs) % sizes.length];
  assert(size !== undefined, 'there is a size to choose');
  return size;
}
