/** What `reveille simulate-bridge` does, until it has had its calls, or Ctrl-C. Exits 1 when it was not let in. */
import type { Clock } from '../../lib/clock.ts';
import { openEngine, type Engine } from '../../media/codec/engine.ts';
import { VideoFile } from '../../media/codec/video-file.ts';
import type { Size } from '../../model/call.ts';
import { mediaFrameHeaderBytes, mediaMessageBytesMax } from '../../model/limits.ts';
import { i420Bytes } from '../../media/geometry/i420.ts';
import { findBridgeKey } from '../../cli/admin/bridge-key.ts';
import { BridgeLeg } from './bridge-leg.ts';
import { noPlaybackTally } from './bridge-playback.ts';
import { BridgeReport } from './bridge-report.ts';
import { beginShow, type ShowPlan } from './bridge-show.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, usageError } from '../../cli/shell/command-error.ts';
import { testFilm, type Film } from './film.ts';
import type { PlayedFormat } from './frame-coder.ts';
import { noLegCounts } from '../simulator/media-leg.ts';
import { findMediaUrl } from '../simulator/media-url.ts';
import { sizeInWords } from './picture-sizes.ts';
import { SimulatedBridge } from './simulated-bridge.ts';

export interface SimulateBridgeOptions {
  readonly key?: string;
  readonly media?: string;
  readonly session?: string;
  readonly format: PlayedFormat;
  readonly size?: readonly Size[];
  /** Seconds, as is `answerAfter`. */
  readonly changeEvery?: number;
  readonly fps?: number;
  readonly audio?: boolean;
  readonly calls?: number;
  readonly answerAfter?: number;
}

const reportEveryMs = 1000;

export async function simulateBridge(
  context: CommandContext,
  file: string | undefined,
  options: SimulateBridgeOptions,
): Promise<void> {
  checkSizes(options);
  const { clock } = context;
  const url = findMediaUrl(context, options.media);
  const key = findBridgeKey(context, options.key);
  const engine = options.format === 'i420' && file === undefined ? null : await neededEngine();
  const plan = planOf(options, () => openFilm(engine, file));
  // A file that cannot be played is better known before there is a call.
  plan.openFilm().close();
  const [tally, counts] = [noPlaybackTally(), noLegCounts()];
  const report = new BridgeReport(context, tally, counts);
  const bridge = new SimulatedBridge(
    {
      clock,
      logger: report,
      answerAfterMs: options.answerAfter === undefined ? null : options.answerAfter * 1000,
      connect: (session, onKeyFrameWanted) =>
        BridgeLeg.connect({ url, key, session: session ?? undefined, onKeyFrameWanted, counts }),
      play: (start, call) => beginShow({ clock, engine, tally, logger: report }, plan, start, call),
    },
    {
      session: options.session ?? null,
      calls: options.calls ?? (options.session === undefined ? Infinity : 1),
    },
  );
  await untilOver(clock, bridge, () => report.progress());
  report.summary(bridge.callsDone);
}

/** Ctrl-C and SIGTERM hang up; a second one ends the process at once. */
async function untilOver(clock: Clock, bridge: SimulatedBridge, progress: () => void): Promise<void> {
  const stop = (): void => {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    bridge.stop();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const cancelReport = clock.every(reportEveryMs, progress);
  try {
    await bridge.run();
  } finally {
    cancelReport();
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

function checkSizes({ session, calls, format, size = [], changeEvery }: SimulateBridgeOptions): void {
  if (session !== undefined && calls !== undefined && calls > 1)
    throw usageError('--session is one call, and --calls asks for more', 'leave one of them out');
  if (changeEvery !== undefined && size.length < 2)
    throw usageError(
      '--change-every has nothing to change',
      'name two sizes or more: --size 320x240,640x480',
    );
  if (changeEvery === undefined && size.length > 1)
    throw usageError('--size names several sizes', 'say when the next one comes: --change-every 5');
  const payloadBytesMax = mediaMessageBytesMax - mediaFrameHeaderBytes;
  const tooLarge = format === 'i420' ? size.find((one) => i420Bytes(one) > payloadBytesMax) : undefined;
  if (tooLarge !== undefined)
    throw usageError(`an I420 frame of ${sizeInWords(tooLarge)} is larger than a message may be (1 MiB)`);
}

async function neededEngine(): Promise<Engine> {
  const engine = await openEngine();
  if (engine.ok) return engine.value;
  throw new CommandError(engine.error, 'without it only the test picture is played, with --format i420');
}

function planOf(options: SimulateBridgeOptions, open: () => Film): ShowPlan {
  return {
    format: options.format,
    sizes: options.size ?? null,
    changeEveryMs: options.changeEvery === undefined ? null : options.changeEvery * 1000,
    framesPerSecond: options.fps ?? null,
    wantsTone: options.audio === true,
    openFilm: open,
  };
}

function openFilm(engine: Engine | null, file: string | undefined): Film {
  if (engine === null || file === undefined) return testFilm();
  const film = VideoFile.open(engine, file);
  if (film.ok) return film.value;
  throw new CommandError(film.error, 'name another file; without one, a test picture is played');
}
