/** Figure: pictures a core makes of a clip, through the worker path, against FFmpeg and sharp at equal likeness. */
import { ofLandscape, ofPortrait } from '../../test/pictures/expectations.ts';
import type { Expectation } from '../../test/pictures/reference.ts';
import { timeFfmpeg } from '../peers/ffmpeg.ts';
import { ClipProcess } from './clip-process.ts';
import type { Figure, Target } from './figure.ts';
import { NaturalClips, type Clip, type ClipFormat } from './natural-clips.ts';
import { compareLikeness, type Likenesses } from './picture-likeness.ts';
import { type PeerProtocol, type PictureReading, type SharpProtocol } from './picture-protocol.ts';
import type { Plan } from './plan.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { Trouble } from './trouble.ts';

type ContenderName = 'Reveille' | 'ffmpeg' | 'sharp';

interface Case {
  /** As the table names it, without the contender. */
  readonly name: string;
  readonly clip: Clip;
  readonly expectation: Expectation;
  readonly likenesses: Likenesses;
}

const landscape = { width: 640, height: 480 };
const portrait = { width: 240, height: 320 };
const formats: readonly ClipFormat[] = ['mjpeg', 'h264'];
const formatNames = { mjpeg: 'MJPEG', h264: 'H.264' } as const;
/** Of the issue: ours by FFmpeg's. */
const ratioMin = { mjpeg: 1.15, h264: 1 } as const;
const sharpRatioMin = 3;
const bytesRatioMax = 1.1;
/** Of each session: the runtime compiles what it finds to be used much. */
const warmUpPasses = 4;

export async function measureMedia(plan: Plan): Promise<Figure> {
  const clips = new NaturalClips(plan.media);
  const study = new MediaStudy(plan);
  try {
    const cases = await makeCases(clips);
    for (const one of cases)
      await interleave(contendersOf(one), plan.runs, (contender) => study.measure(one, contender));
    return await study.describe(cases);
  } finally {
    study.stop();
    clips.remove();
  }
}

async function makeCases(clips: NaturalClips): Promise<readonly Case[]> {
  const cases: Case[] = [];
  for (const format of formats)
    for (const [size, expectations] of [
      [landscape, ofLandscape.slice(1)],
      [portrait, ofPortrait.slice(1, 2)],
    ] as const) {
      const clip = await clips.clip(format, size);
      for (const expectation of expectations)
        cases.push({
          name: nameOf(format, clip, expectation),
          clip,
          expectation,
          likenesses: await compareLikeness(clips.directory, clip, expectation),
        });
    }
  return cases;
}

function nameOf(format: ClipFormat, clip: Clip, { shape, output }: Expectation): string {
  const how = shape.mode.replace('_screen', '');
  return `${formatNames[format]} ${clip.width}×${clip.height} → ${output.width}×${output.height} ${how}`;
}

function contendersOf({ clip }: Case): readonly ContenderName[] {
  return clip.file.format === 'mjpeg' ? ['Reveille', 'ffmpeg', 'sharp'] : ['Reveille', 'ffmpeg'];
}

class MediaStudy {
  readonly #plan: Plan['media'];
  readonly #samples = new Samples();
  readonly #trouble = new Trouble();
  readonly #ours = new ClipProcess<PeerProtocol>('reveille-transcoder');
  readonly #sharp = new ClipProcess<SharpProtocol>('sharp');

  constructor({ media }: Plan) {
    this.#plan = media;
  }

  stop(): void {
    this.#ours.child.kill();
    this.#sharp.child.kill();
  }

  async measure(one: Case, contender: ContenderName): Promise<void> {
    const likeness = one.likenesses[contender === 'Reveille' ? 'ours' : contender];
    const spent = await this.#run(one, contender);
    const frames = one.clip.frames.length * this.#plan.repeats;
    this.#samples.add(`${one.name}: ${contender}`, {
      perCpuSecond: frames / spent.cpuSeconds,
      rate: frames / spent.wallSeconds,
      ...(likeness !== null && { ssim: likeness.ssim, bytes: likeness.bytesPerPicture }),
    });
  }

  #run(one: Case, contender: ContenderName): Promise<Pick<PictureReading, 'cpuSeconds' | 'wallSeconds'>> {
    if (contender === 'Reveille') return this.#runOurs(one);
    return contender === 'ffmpeg' ? runFfmpeg(one, null) : this.#runSharp(one);
  }

  async #runOurs({ name, clip, expectation }: Case): Promise<PictureReading> {
    const { repeats, sessions } = this.#plan;
    const service = await this.#ours.holding(clip);
    await service.ask('pool', { expectation, sessions, passes: Math.min(warmUpPasses, repeats / sessions) });
    const reading = await service.ask('pool', { expectation, sessions, passes: repeats / sessions });
    this.#expectPictures(`${name}: Reveille`, clip, reading);
    return reading;
  }

  async #runSharp({ name, clip, expectation, likenesses }: Case): Promise<PictureReading> {
    const service = await this.#sharp.holding(clip);
    const quality = likenesses.sharp?.setting ?? NaN;
    await service.ask('resize', { expectation, passes: 1, quality });
    const reading = await service.ask('resize', { expectation, passes: this.#plan.repeats, quality });
    this.#expectPictures(`${name}: sharp`, clip, reading);
    return reading;
  }

  #expectPictures(who: string, clip: Clip, { frames, wrong }: PictureReading): void {
    const missing = clip.frames.length * this.#plan.repeats - frames + wrong;
    if (missing > 0) this.#trouble.add(`${who}: ${missing} pictures did not come, or not of their size`);
  }

  async describe(cases: readonly Case[]): Promise<Figure> {
    const { repeats, sessions } = this.#plan;
    const frames = (cases[0]?.clip.frames.length ?? 0) * repeats;
    const ffmpegStart = await this.#ffmpegStartShare(cases, frames);
    const settings = cases.map(({ name, likenesses: { ffmpeg, sharp } }) => {
      return `${name}: -q:v ${ffmpeg.setting}${sharp === null ? '' : `, quality ${sharp.setting}`}`;
    });
    return {
      name: 'media',
      title: 'Pictures a core makes',
      notes: [
        `A natural clip of ${frames} frames: photographs that a camera pans over, 15 a second; JPEGs of FFmpeg’s -q:v 3, or ` +
          'H.264 baseline of 0.8 Mbit/s. Bicubic everywhere; every contender has one and the same core.',
        `Ours: one worker thread with ${sessions} sessions in turn, quality 80, each frame copied before it is moved there; the ` +
          'CPU is that of the whole process, its main thread and the runtime’s threads included. It and sharp have a warm-up before each run.',
        `ffmpeg: -threads 1 -filter_threads 1, the program from its start to its end; its start is ${percent(ffmpegStart)} of the ` +
          'shortest run. sharp: one picture after the other, concurrency 1, no cache, shrinking on load as by default.',
        'SSIM: of the pictures with the decoded source scaled by FFmpeg and not coded again, the mean over all frames, planes ' +
          'weighted by their samples. A peer has the cheapest setting at which it is not below ours by 0.0005 or more, or, if none ' +
          `is, its best: ${settings.join('; ')}.`,
      ],
      columns: [
        { metric: 'perCpuSecond', title: 'frames per CPU-second', digits: 0 },
        { metric: 'rate', title: 'frames/s', digits: 0 },
        { metric: 'bytes', title: 'bytes/picture', digits: 0 },
        { metric: 'ssim', title: 'SSIM', digits: 4 },
      ],
      samples: this.#samples,
      targets: cases.flatMap((one) => this.#targetsOf(one)),
      trouble: this.#trouble.list,
    };
  }

  /** What the first frame takes of the shortest run. */
  async #ffmpegStartShare(cases: readonly Case[], frames: number): Promise<number> {
    const [first] = cases;
    const rates = cases.flatMap(({ name }) => this.#samples.values(`${name}: ffmpeg`, 'perCpuSecond'));
    return first === undefined ? NaN : ((await runFfmpeg(first, 1)).cpuSeconds * Math.max(...rates)) / frames;
  }

  #targetsOf(one: Case): Target[] {
    const { format } = one.clip.file;
    const rates = contendersOf(one)
      .filter((peer) => peer !== 'Reveille')
      .flatMap((peer) => {
        const value = peer === 'ffmpeg' ? ratioMin[format] : sharpRatioMin;
        const bound = { kind: 'at least', value } as const;
        return [
          { ...this.#against(one, peer, 'perCpuSecond', 'frames per CPU-second'), bound },
          this.#against(one, peer, 'rate', 'frames/s'),
        ];
      });
    const bytes = this.#against(one, 'ffmpeg', 'bytes', 'bytes/picture');
    return [...rates, { ...bytes, bound: { kind: 'at most', value: bytesRatioMax } }];
  }

  #against({ name }: Case, peer: ContenderName, metric: string, what: string): Target {
    return {
      what: `${name}: Reveille / ${peer}, ${what}`,
      measured: this.#samples.compare(metric, `${name}: Reveille`, `${name}: ${peer}`, ratio),
      bound: null,
      digits: 2,
    };
  }
}

function runFfmpeg(
  { clip, expectation, likenesses }: Case,
  framesMax: number | null,
): ReturnType<typeof timeFfmpeg> {
  const { format } = clip.file;
  const task = { format, path: clip.repeated, expectation, qscale: likenesses.ffmpeg.setting };
  return timeFfmpeg(task, framesMax);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
