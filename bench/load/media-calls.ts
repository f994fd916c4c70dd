/**
 * Figure: what calls cost the media process beyond the work on their pictures, what its way adds to that work's time, and how many
 * calls one core carries.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ofLandscape } from '../../test/pictures/expectations.ts';
import { CallLoad, carryingEnv } from './call-load.ts';
import { Child, loadCore } from './child.ts';
import { ClipProcess } from './clip-process.ts';
import type { Figure, Target } from './figure.ts';
import { framesPerSecond, frameMsMax, legsService, type LegsProtocol } from './legs-protocol.ts';
import { NaturalClips, type Clip } from './natural-clips.ts';
import type { PeerProtocol } from './picture-protocol.ts';
import type { Plan } from './plan.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';

const kinds = {
  mjpeg: { name: 'MJPEG', clip: 'mjpeg', hasSound: false },
  h264: { name: 'H.264', clip: 'h264', hasSound: false },
  'h264-sound': { name: 'H.264 and sound', clip: 'h264', hasSound: true },
} as const;
type Kind = keyof typeof kinds;
const source = { width: 640, height: 480 };
const [, expectation] = ofLandscape;
/** Of the issue. */
const costRatioMax = 1.3;
const latencyRatioMax = 2;
const heldMin = 60;
const stepsPasses = 4;

export async function measureMediaCalls(plan: Plan): Promise<Figure> {
  const clips = new NaturalClips({ ...plan.mediaCalls, repeats: 1 });
  const study = new MediaCallStudy(plan);
  try {
    const sources = { mjpeg: await clips.clip('mjpeg', source), h264: await clips.clip('h264', source) };
    await interleave(plan.mediaCalls.kinds, plan.runs, (kind) =>
      study.measure(kind, sources[kinds[kind].clip]),
    );
    return study.describe();
  } finally {
    clips.remove();
  }
}

class MediaCallStudy {
  readonly #plan: Plan['mediaCalls'];
  readonly #samples = new Samples();
  readonly #trouble = new Trouble();

  constructor({ mediaCalls }: Plan) {
    this.#plan = mediaCalls;
  }

  async measure(kind: Kind, clip: Clip): Promise<void> {
    this.#samples.add(rows.steps(kind), { cpuShare: await this.#stepsShare(clip) });
    const legs = new Child({ entry: new URL('./legs-process.ts', import.meta.url), core: loadCore });
    legs.process.stdout?.resume();
    let server: ReveilleServer | null = null;
    try {
      server = await startReveille({ devices: this.#plan.callsMax, env: carryingEnv });
      const service = legs.service<LegsProtocol>(legsService);
      await service.ask('load', clip.file);
      await this.#measureCalls(new CallLoad(server, service, legs, kinds[kind].hasSound), kind);
    } finally {
      await legs.stop();
      await server?.stop();
    }
  }

  /** What a call’s pictures alone take of a core. */
  async #stepsShare(clip: Clip): Promise<number> {
    const transcoder = new ClipProcess<PeerProtocol>('reveille-transcoder');
    try {
      if (expectation === undefined) throw new Error('there is a fitted picture to make');
      const service = await transcoder.holding(clip);
      await service.ask('steps', { expectation, passes: 1 });
      const reading = await service.ask('steps', { expectation, passes: stepsPasses });
      if (reading.wrong > 0) this.#trouble.add(`${reading.wrong} pictures of one thread were wrong`);
      return (reading.cpuSeconds / reading.frames) * framesPerSecond;
    } finally {
      await transcoder.child.stop();
    }
  }

  async #measureCalls(load: CallLoad, kind: Kind): Promise<void> {
    const { warmUpSeconds, seconds, calls } = this.#plan;
    await sleep(warmUpSeconds * 1000);
    const idle = await load.idleShare(warmUpSeconds);
    for (const count of [1, calls]) {
      const name = rows.calls(kind, count);
      if ((await load.growTo(count)) < count) this.#trouble.add(`${name}: not all were let in`);
      await load.play(warmUpSeconds);
      const { reading, cpuShare, loadShare } = await load.play(seconds);
      if (reading.missing > 0)
        this.#trouble.add(`${name}: ${reading.missing} of ${reading.frames} pictures did not come`);
      const { p50Ms, p99Ms } = reading.latency;
      this.#samples.add(name, {
        cpuShare: (cpuShare - idle) / count,
        p50: p50Ms,
        p99: p99Ms,
        loadBusy: loadShare * 100,
      });
      this.#samples.add(rows.work(kind, count), await load.workTimes());
    }
    this.#samples.add(rows.held(kind), await this.#findMost(load, kind, idle));
  }

  /** How many calls are carried whose frames are not late; more and more are begun until some are. */
  async #findMost(load: CallLoad, kind: Kind, idle: number): Promise<Record<string, number>> {
    const { callsPerLevel, levelSeconds, calls, callsMax } = this.#plan;
    let held: Record<string, number> = { held: 0 };
    for (let count = calls; count <= callsMax; count += callsPerLevel) {
      if ((await load.growTo(count)) < count) break;
      await load.play(1);
      const { reading, cpuShare, loadShare } = await load.play(levelSeconds);
      const { p50Ms, p99Ms } = reading.latency;
      const loadBusy = loadShare * 100;
      if (count > calls)
        this.#samples.add(rows.calls(kind, count), {
          cpuShare: (cpuShare - idle) / count,
          p50: p50Ms,
          p99: p99Ms,
          loadBusy,
        });
      if (reading.missing > 0 || p99Ms >= frameMsMax) break;
      held = { held: count, p50: p50Ms, p99: p99Ms, loadBusy };
    }
    return held;
  }

  describe(): Figure {
    const { kinds: measured, seconds, calls, callsPerLevel, levelSeconds } = this.#plan;
    return {
      name: 'media-calls',
      title: 'Calls at the media process',
      notes: [
        `${source.width}×${source.height} natural clips to 320×240 fit, ${framesPerSecond} frames a second from each bridge, ${seconds} s ` +
          'after a warm-up; a real server and its media process on one core, the legs in one process on the other.',
        'With sound: the bridge sends and takes PCM, the device A-law, 8 kHz, a packet every 20 ms each way, all of it converted.',
        'Core share of a call: CPU-seconds a second of the whole media process, less those of an idle one, by the number of calls; ' +
          `against decoding, scaling and encoding the same clip in a loop on one thread of the same core, times ${framesPerSecond}.`,
        'Latency: from the frame’s going out at the bridge leg to its picture at the device leg, both legs’ own work and the ' +
          'kernel’s in it, against the worker’s own time for the last frames, as GET /v1/calls/media tells it (the median of the calls).',
        `Calls held: ${callsPerLevel} more at a time, ${levelSeconds} s each, until the p99 is ${frameMsMax} ms or a frame has no picture; ` +
          'with REVEILLE_MEDIA_LOAD_MAX=1, so that nobody is refused who could still be carried, and all threads of the server and ' +
          'its media process on the one core.',
        'Load busy: the legs’ share of their core; near 100 % it is they who are late.',
      ],
      columns: [
        { metric: 'cpuShare', title: 'core share of a call', digits: 4 },
        { metric: 'p50', title: 'p50 ms', digits: 2 },
        { metric: 'p99', title: 'p99 ms', digits: 2 },
        { metric: 'held', title: 'calls held', digits: 0 },
        { metric: 'loadBusy', title: 'load busy %', digits: 0 },
      ],
      samples: this.#samples,
      targets: measured.flatMap((kind) => [
        ...(kinds[kind].hasSound ? [] : [this.#heldTarget(kind)]),
        this.#target('cpuShare', rows.calls(kind, calls), rows.steps(kind), costRatioMax),
        ...[1, calls].flatMap((count) =>
          ['p50', 'p99'].map((metric) =>
            this.#target(metric, rows.calls(kind, count), rows.work(kind, count), latencyRatioMax),
          ),
        ),
      ]),
      trouble: this.#trouble.list,
    };
  }

  #heldTarget(kind: Kind): Target {
    const measured = this.#samples.compare('held', rows.held(kind), rows.held(kind), (own) => own);
    return { what: rows.held(kind), measured, bound: { kind: 'at least', value: heldMin }, digits: 0 };
  }

  #target(metric: string, ours: string, theirs: string, value: number): Target {
    const what = metric === 'cpuShare' ? 'core share' : metric;
    return {
      what: `${ours} / ${theirs}, ${what}`,
      measured: this.#samples.compare(metric, ours, theirs, ratio),
      bound: { kind: 'at most', value },
      digits: 2,
    };
  }
}

const rows = {
  steps: (kind: Kind) => `${kinds[kind].name}: decode, scale, encode alone`,
  calls: (kind: Kind, count: number) => `${kinds[kind].name}: ${count} call${count === 1 ? '' : 's'}`,
  work: (kind: Kind, count: number) => `${rows.calls(kind, count)}, the worker alone`,
  held: (kind: Kind) => `${kinds[kind].name}: the most calls held`,
};
