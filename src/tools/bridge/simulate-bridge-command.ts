/**
 * `reveille simulate-bridge`: a bridge that takes calls and plays video to them as if from phones, until it has had its
 * calls or Ctrl-C. Exits 1 when it was not let in.
 */
import { Option, type Command } from 'commander';
import {
  addExamples,
  type CommandContext,
  inContext,
  untilInterrupted,
} from '../../cli/shell/command-context.ts';
import { playedFormats, type PlayedFormat } from './frame-coder.ts';
import { wholeNumberOption } from '../../cli/shell/option-values.ts';
import { parseSizes, beginShow, type ShowPlan } from './bridge-show.ts';
import { openEngine, type Engine } from '../../media/codec/engine.ts';
import { VideoFile } from '../../media/codec/video-file.ts';
import type { Size } from '../../model/call.ts';
import { audioFrameFormats, type AudioFrameFormat } from '../../model/media/sound.ts';
import { mediaFrameHeaderBytes, mediaMessageBytesMax } from '../../model/limits.ts';
import { i420Bytes } from '../../media/geometry/source-frame.ts';
import { findBridgeKey, SimulatedBridge } from './simulated-bridge.ts';
import { noLegCounts } from '../simulator/leg-counts.ts';
import { BridgeLeg } from '../simulator/media-leg.ts';
import { noPlaybackTally } from './bridge-playback.ts';
import { sizeInWords, BridgeReport } from './bridge-report.ts';
import { CommandError, usageError } from '../../cli/shell/command-error.ts';
import { testFilm, type Film } from './test-picture.ts';
import { findMediaUrl, mediaTrust } from '../simulator/server-urls.ts';
import { addTrustOptions, findTrust, type TrustOptions } from '../../cli/shell/server-trust.ts';

const callsMax = 1_000_000;
const session = '01a2b3c4-0000-7000-8000-000000000003';

export function addSimulateBridgeCommand(program: Command): void {
  const format = new Option('--format <format>', 'what the video is sent as');
  const command = program
    .command('simulate-bridge')
    .description(
      'Play a bridge: it takes calls, answers them for the phone, and plays a film or a test picture in real time.',
    )
    .argument('[file]', 'a film that FFmpeg can read, over and over; a moving test picture when left out')
    .option(
      '--key <key>',
      'of the bridge; the first of REVEILLE_MEDIA_BRIDGE_KEYS (media.bridge_keys) when left out',
    )
    .option('--media <address>', 'media listener, host:port or a ws or wss URL; the local one when left out')
    .option('--session <id>', 'come for this session; it waits to be given a call when left out')
    .option(
      '--calls <count>',
      'take so many, one after the other; until Ctrl-C when left out',
      wholeNumberOption(1, callsMax),
    )
    .addOption(format.choices(playedFormats).default('h264'))
    .option('--size <WxH,…>', 'pixels; as the call asks for when left out', parseSizes)
    .option(
      '--change-every <seconds>',
      'with several sizes: when the next one comes',
      wholeNumberOption(1, 3600),
    )
    .option('--fps <count>', 'frames a second; as the call asks for when left out', wholeNumberOption(1, 60))
    .addOption(
      new Option(
        '--audio [format]',
        'play a tone, too; as the call asks for when no format is named',
      ).choices(audioFrameFormats),
    )
    .option(
      '--answer-after <seconds>',
      'the phone joins so long after the ringing, for devices that do not say that they accept',
      wholeNumberOption(0, 600),
    )
    .addOption(
      new Option('--uplink <format>', 'what it takes of the device; as it comes when left out').choices([
        'h264',
      ]),
    )
    .addOption(
      new Option('--uplink-audio <format>', 'the sound that it takes of the device, likewise').choices(
        audioFrameFormats,
      ),
    )
    .action(inContext(simulateBridge));
  addExamples(
    addTrustOptions(command),
    ['simulate-bridge', 'a test picture as H.264, to every call of the local server'],
    ['simulate-bridge door.mp4 --calls 1 --audio', 'a film and a tone, to one call'],
    ['simulate-bridge --audio opus --uplink-audio pcm', 'sound that the server converts, both ways'],
    [
      'simulate-bridge --format mjpeg --size 320x240,240x320 --change-every 5',
      'a phone that is turned every five seconds',
    ],
    [`simulate-bridge --session ${session} --key KEY --media 10.0.0.5:8083`, 'for one call, elsewhere'],
    ['simulate-bridge --key KEY --media wss://media.example --ca authority.pem', 'over TLS'],
  );
}

interface SimulateBridgeOptions extends TrustOptions {
  readonly key?: string;
  readonly media?: string;
  readonly session?: string;
  readonly format: PlayedFormat;
  readonly size?: readonly Size[];
  /** Seconds, as is `answerAfter`. */
  readonly changeEvery?: number;
  readonly fps?: number;
  /** True: as the call asks for. */
  readonly audio?: AudioFrameFormat | true;
  readonly calls?: number;
  readonly answerAfter?: number;
  readonly uplink?: 'h264';
  readonly uplinkAudio?: AudioFrameFormat;
}

const reportEveryMs = 1000;

async function simulateBridge(
  context: CommandContext,
  file: string | undefined,
  options: SimulateBridgeOptions,
): Promise<void> {
  checkSizes(options);
  const { clock } = context;
  const url = findMediaUrl(context, options.media);
  const tls = mediaTrust(context, options.media, findTrust(context, options));
  const key = findBridgeKey(context, options.key);
  const engine = options.format === 'i420' && file === undefined ? await anyEngine() : await neededEngine();
  const plan = planOf(options, () => openFilm(engine, file));
  // A file that cannot be played is better known before there is a call.
  plan.openFilm().close();
  const [tally, counts] = [noPlaybackTally(), noLegCounts()];
  const report = new BridgeReport(context, tally, counts);
  const bridge = new SimulatedBridge(
    {
      clock,
      logger: report,
      uplink: { video: options.uplink ?? null, audio: options.uplinkAudio ?? null },
      answerAfterMs: options.answerAfter === undefined ? null : options.answerAfter * 1000,
      connect: (session, onKeyFrameWanted) =>
        BridgeLeg.connect({ url, tls, key, session: session ?? undefined, onKeyFrameWanted, counts }),
      play: (start, call) => beginShow({ clock, engine, tally, logger: report }, plan, start, call),
    },
    {
      session: options.session ?? null,
      calls: options.calls ?? (options.session === undefined ? Infinity : 1),
    },
  );
  const cancelReport = clock.every(reportEveryMs, () => report.progress());
  // An interruption hangs up.
  await untilInterrupted((signal) => {
    signal.addEventListener('abort', () => bridge.stop());
    return bridge.run();
  }).finally(cancelReport);
  report.summary(bridge.callsDone);
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

/** Null: there is none; the test picture and a tone in A-law or PCM are played without. */
async function anyEngine(): Promise<Engine | null> {
  const engine = await openEngine();
  return engine.ok ? engine.value : null;
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
    tone: options.audio === true ? 'told' : (options.audio ?? null),
    openFilm: open,
  };
}

function openFilm(engine: Engine | null, file: string | undefined): Film {
  if (engine === null || file === undefined) return testFilm();
  const film = VideoFile.open(engine, file);
  if (film.ok) return film.value;
  throw new CommandError(film.error, 'name another file; without one, a test picture is played');
}
