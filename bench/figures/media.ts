/** Pictures per second and core, through the worker path, against FFmpeg at equal similarity; and the CPU of sound. */
import { moduleBeside } from '../../src/lib/module-worker.ts';
import type { Size } from '../../src/model/call.ts';
import { soundBlockMs } from '../../src/model/media/sound-limits.ts';
import { ofLandscape, ofPortrait } from '../../test/pictures/expectations.ts';
import type { Expectation } from '../../test/pictures/reference.ts';
import {
  atMost,
  inTurn,
  ratioTo,
  type AnyScale,
  type Benchmark,
  type Measurement,
  type Target,
} from '../harness/benchmark.ts';
import { Player, serverCore } from '../harness/child.ts';
import { compareLikeness, timeFfmpeg, timePictures } from '../media/ffmpeg.ts';
import { NaturalClips, type ClipFormat } from '../media/natural-clips.ts';
import { makeSound, soundFormats } from '../media/sounds.ts';
import type { PictureReading, TranscoderProtocol } from '../media/transcoder-process.ts';

/**
 * `framesPerPhotograph`: of five; `repeats`: repetitions of the clip per contender, a multiple of `sessions`; `soundSeconds`: length of
 * the sound, which is repeated as often as `soundRepeats` says.
 */
const plans = {
  full: { framesPerPhotograph: 30, repeats: 18, sessions: 2, soundSeconds: 60, soundRepeats: 30 },
  short: { framesPerPhotograph: 4, repeats: 8, sessions: 2, soundSeconds: 60, soundRepeats: 8 },
  smoke: { framesPerPhotograph: 2, repeats: 2, sessions: 2, soundSeconds: 1, soundRepeats: 2 },
};
type Plan = (typeof plans)['full'];

const formats: readonly ClipFormat[] = ['mjpeg', 'h264'];
const formatNames = { mjpeg: 'MJPEG', h264: 'H.264' } as const;
const shapes = [
  { size: { width: 640, height: 480 }, expectations: ofLandscape.slice(1) },
  { size: { width: 240, height: 320 }, expectations: ofPortrait.slice(1, 2) },
] as const;
const soundRows = { pcm: 'PCM → A-law, 8 kHz', opus: 'Opus → A-law, 8 kHz' } as const;
const [ours, theirs, alone] = ['Reveille', 'ffmpeg', 'the steps alone'];
/** Unmeasured passes per session, in which the runtime compiles hot code. */
const warmUpPasses = 4;

async function measure(measurement: Measurement<AnyScale>): Promise<void> {
  const { scale, runs, rows, samples, trouble } = measurement;
  const plan = plans[scale];
  const clips = new NaturalClips(plan);
  const entry = moduleBeside('../media/transcoder-process', import.meta.url);
  const transcoder = new Player<TranscoderProtocol>(entry, { core: serverCore });
  try {
    for (const format of formats)
      for (const { size, expectations } of shapes) {
        const isIncluded = (to: Expectation): boolean =>
          rows?.has(`${rowOf(format, size, to)}: ${ours}`) ?? true;
        if (!expectations.some(isIncluded)) continue;
        const clip = await clips.clip(format, size);
        const frames = await transcoder.service.ask('load', clip.file);
        for (const expectation of expectations.filter(isIncluded)) {
          const row = rowOf(format, size, expectation);
          const likeness = await compareLikeness(clips.directory, clip, expectation);
          const { qscale, ...ofFfmpeg } = likeness.ffmpeg;
          const checked = (reading: PictureReading): PictureReading => {
            const missing = frames * plan.repeats - reading.frames + reading.wrong;
            if (missing > 0) trouble.add(`${row}: ${missing} pictures are missing or of another size`);
            return reading;
          };
          const contenders = {
            [ours]: async () => ({
              ...checked(await makeOurs(transcoder, expectation, plan)),
              ...likeness.ours,
            }),
            [alone]: async () => ({
              ...checked(await makeAlone(transcoder, expectation, plan)),
              ...likeness.ours,
            }),
            [theirs]: async () => {
              const spent = await timePictures({ format, path: clip.repeated, expectation, qscale });
              return { ...spent, ...ofFfmpeg };
            },
          };
          for (let run = 0; run < runs; run += 1)
            for (const [contender, make] of inTurn(Object.entries(contenders), run)) {
              if (rows?.has(`${row}: ${contender}`) === false) continue;
              const { cpuSeconds, ssim, bytes } = await make();
              const perCpuSecond = (frames * plan.repeats) / cpuSeconds;
              const cpuUs = 1e6 / perCpuSecond;
              samples.add(`${row}: ${contender}`, { perCpuSecond, cpuUs, bytes, ssim });
            }
        }
      }
    await measureSound(measurement, transcoder, clips.directory);
  } finally {
    await transcoder.stop();
    clips.remove();
  }
}

async function measureSound(
  { scale, runs, rows, samples, trouble }: Measurement<AnyScale>,
  { service }: Player<TranscoderProtocol>,
  directory: string,
): Promise<void> {
  const { soundSeconds: seconds, soundRepeats: repeats, sessions } = plans[scale];
  for (const format of soundFormats) {
    const row = soundRows[format];
    if (rows?.has(`${row}: ${ours}`) === false) continue;
    const { file, conversion } = await makeSound(directory, format, { seconds, repeats });
    const packets = (seconds * 1000 * repeats) / soundBlockMs;
    const contenders = {
      [ours]: async () => {
        const passes = repeats / sessions;
        await service.ask('sound', { ...file, sessions, passes: Math.min(warmUpPasses, passes) });
        const reading = await service.ask('sound', { ...file, sessions, passes });
        if (reading.missing > 0) trouble.add(`${row}: ${reading.missing} packets are missing`);
        return reading.cpuSeconds;
      },
      [theirs]: async () => (await timeFfmpeg(conversion)).cpuSeconds,
    };
    for (let run = 0; run < runs; run += 1)
      for (const [contender, make] of inTurn(Object.entries(contenders), run))
        samples.add(`${row}: ${contender}`, { soundUs: ((await make()) * 1e6) / packets });
  }
}

async function makeOurs(
  { service }: Player<TranscoderProtocol>,
  expectation: Expectation,
  { repeats, sessions }: Plan,
): Promise<PictureReading> {
  const passes = repeats / sessions;
  await service.ask('pool', { expectation, sessions, passes: Math.min(warmUpPasses, passes) });
  return service.ask('pool', { expectation, sessions, passes });
}

async function makeAlone(
  { service }: Player<TranscoderProtocol>,
  expectation: Expectation,
  { repeats }: Plan,
): Promise<PictureReading> {
  await service.ask('steps', { expectation, passes: warmUpPasses });
  return service.ask('steps', { expectation, passes: repeats });
}

function rowOf(format: ClipFormat, { width, height }: Size, to: Expectation): string {
  const { shape, output } = to;
  const how = shape.mode.replace('_screen', '');
  return `${formatNames[format]} ${width}×${height} → ${output.width}×${output.height} ${how}`;
}

function pictureTargets(row: string): Target[] {
  const perCpuSecond = { metric: 'perCpuSecond', unit: '/s', compared: ratioTo(`${row}: ${theirs}`) };
  return [
    {
      what: `${row}: frames per CPU-second, against ffmpeg`,
      row: `${row}: ${ours}`,
      ...perCpuSecond,
      bound: null,
    },
    { what: '… of the steps alone', row: `${row}: ${alone}`, ...perCpuSecond, bound: null },
    {
      what: '… CPU of a picture, against the steps alone',
      row: `${row}: ${ours}`,
      metric: 'cpuUs',
      unit: 'µs',
      compared: ratioTo(`${row}: ${alone}`),
      bound: atMost(1.3),
    },
  ];
}

const { framesPerPhotograph, repeats, sessions, soundSeconds, soundRepeats } = plans.full;

export const media: Benchmark = {
  title: 'Pictures and sound',
  runs: 3,
  notes: [
    `${5 * framesPerPhotograph * repeats} frames of photographs that a camera pans over, JPEG (-q:v 3) or H.264 baseline of 0.8 Mbit/s; bicubic, one core. ` +
      'It needs FFmpeg and the Debian package `mate-backgrounds`.',
    `Ours: one worker thread with ${sessions} sessions in turn, quality 80, CPU of the whole process. The steps alone: decoded, scaled and encoded on the main thread, nothing crosses. ffmpeg: -threads 1, the cheapest setting whose SSIM is not below ours by 0.0005.`,
    `Sound: ${(soundSeconds * soundRepeats) / 60} minutes of it, mono; Opus of 32 kbit/s at 48 kHz, which ffmpeg decodes by itself, faster than with libopus. Ours: ${sessions} sessions in turn.`,
    'SSIM: against the decoded source scaled by FFmpeg and not coded again.',
  ],
  columns: [
    { metric: 'perCpuSecond', title: 'frames per CPU-second', digits: 0 },
    { metric: 'bytes', title: 'bytes/picture', digits: 0 },
    { metric: 'ssim', title: 'SSIM', digits: 4 },
    { metric: 'soundUs', title: 'CPU µs/20 ms of sound', digits: 1 },
  ],
  targets: [
    ...formats.flatMap((format) =>
      shapes.flatMap(({ size, expectations }) =>
        expectations.flatMap((expectation) => pictureTargets(rowOf(format, size, expectation))),
      ),
    ),
    ...soundFormats.map((format) => ({
      what: `${soundRows[format]}: CPU of 20 ms, against ffmpeg`,
      row: `${soundRows[format]}: ${ours}`,
      metric: 'soundUs',
      unit: 'µs',
      compared: ratioTo(`${soundRows[format]}: ${theirs}`),
      bound: atMost(1.2),
    })),
  ],
  watched: [
    {
      what: 'CPU of a picture',
      row: `MJPEG 640×480 → 320×240 fit: ${ours}`,
      metric: 'cpuUs',
      unit: 'µs',
      peer: { row: `MJPEG 640×480 → 320×240 fit: ${theirs}`, metric: 'cpuUs' },
    },
  ],
  measure,
};
