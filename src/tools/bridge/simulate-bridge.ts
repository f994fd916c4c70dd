/** `reveille simulate --bridge`: plays a bridge that accepts calls and sends them video, until it is stopped. */
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { pauseUnless, untilInterrupted } from '../../cli/shell/command-context.ts';
import { CommandError } from '../../cli/shell/command-error.ts';
import { findTrust, type TrustOptions } from '../../cli/shell/server-trust.ts';
import { openEngine, type Engine } from '../../media/codec/engine.ts';
import { VideoFile } from '../../media/codec/video-file.ts';
import type { Size } from '../../model/call.ts';
import type { PictureFormat } from '../../model/media/picture.ts';
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import { findMediaUrl, mediaTrust } from '../simulator/server-urls.ts';
import { playingBridge, type ShowPlan } from './bridge-show.ts';
import { CallReport } from './call-report.ts';
import { findBridgeKey } from './simulated-bridge.ts';
import { testFilm, type Film } from './test-picture.ts';

export interface PlayOptions {
  readonly film?: string;
  readonly video?: PictureFormat;
  readonly audio?: AudioFrameFormat;
  readonly uplink?: 'h264';
  readonly uplinkAudio?: AudioFrameFormat;
  readonly key?: string;
  /** Seconds. */
  readonly duration?: number;
}

export interface SimulateBridgeOptions extends PlayOptions, TrustOptions {
  readonly media?: string;
  readonly session?: string;
  readonly size?: readonly Size[];
  /** Seconds. */
  readonly answerAfter?: number;
}

/** Rejects with a CommandError if the bridge is refused. */
export async function simulateBridge(context: CommandContext, options: SimulateBridgeOptions): Promise<void> {
  const { clock } = context;
  const {
    film,
    video = 'h264',
    audio = 'requested',
    size = null,
    session = null,
    answerAfter,
    duration,
  } = options;
  const url = findMediaUrl(context, options.media);
  const tls = mediaTrust(context, options.media, findTrust(context, options));
  const key = findBridgeKey(context, options.key);
  const engine = await findEngine(context);
  const plan: ShowPlan = { format: video, sizes: size, tone: audio, openFilm: filmOpener(engine, film) };
  const report = new CallReport(context, ['bridge']);
  const { sent: tally, received: counts } = report.bridge;
  const uplink = { video: options.uplink ?? null, audio: options.uplinkAudio ?? null };
  const answerAfterMs = answerAfter === undefined ? null : answerAfter * 1000;
  const show = { clock, engine, tally, onEvent: report.reportBridgeEvent, plan };
  const bridge = playingBridge({ ...show, url, tls, key, uplink, answerAfterMs, counts }, session);
  const cancelReport = clock.every(1000, () => report.progress());
  const durationMs = (duration ?? Infinity) * 1000;
  await untilInterrupted(async (signal) => {
    const running = bridge.run();
    await Promise.race([running, pauseUnless(clock, durationMs, signal)]);
    bridge.stop();
    await running;
  }).finally(cancelReport);
  report.summary(bridge.callsDone);
}

/** Null: not available; calls have audio only. */
export async function findEngine({ output }: CommandContext): Promise<Engine | null> {
  const engine = await openEngine();
  if (engine.ok) return engine.value;
  output.remark(`${engine.error}: calls have audio only`);
  return null;
}

/** Throws a CommandError if the film cannot be played, before any call starts. */
export function filmOpener(engine: Engine | null, film: string | undefined): () => Film {
  if (engine === null || film === undefined) return testFilm;
  const open = (): Film => {
    const opened = VideoFile.open(engine, film);
    if (opened.ok) return opened.value;
    throw new CommandError(opened.error, 'name another file with --film, or none for a test picture');
  };
  open().close();
  return open;
}
