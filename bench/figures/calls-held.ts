/** The CPU cost of a call in the media process, the latency of its pictures, and the number of calls per core. */
import { setTimeout as sleep } from 'node:timers/promises';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { ofLandscape } from '../../test/pictures/expectations.ts';
import {
  atMost,
  interleave,
  ratioTo,
  type Benchmark,
  type Measurement,
  type Target,
} from '../harness/benchmark.ts';
import { Player, serverCore } from '../harness/child.ts';
import { startReveille, type ReveilleServer } from '../harness/servers.ts';
import { CallLoad } from '../media/call-load.ts';
import type { LegsProtocol } from '../media/legs-process.ts';
import { NaturalClips, type Clip } from '../media/natural-clips.ts';
import { bridgeKey, framesPerSecond } from '../media/played-call.ts';
import type { PictureReading, TranscoderProtocol } from '../media/transcoder-process.ts';

const kinds = [
  { name: 'MJPEG', format: 'mjpeg', hasSound: false },
  { name: 'H.264', format: 'h264', hasSound: false },
  { name: 'H.264 and sound', format: 'h264', hasSound: true },
] as const;
type Kind = (typeof kinds)[number];

/** `callsPerLevel`: calls added per level to find the maximum of a core; each level is measured for `levelSeconds`. */
const plans = {
  full: {
    kinds,
    framesPerPhotograph: 30,
    warmUpSeconds: 10,
    seconds: 20,
    calls: 10,
    callsPerLevel: 5,
    levelSeconds: 4,
    callsMax: 90,
  },
  smoke: {
    kinds: kinds.slice(2),
    framesPerPhotograph: 2,
    warmUpSeconds: 0.5,
    seconds: 1,
    calls: 2,
    callsPerLevel: 1,
    levelSeconds: 1,
    callsMax: 3,
  },
};
const source = { width: 640, height: 480 };
const [, expectation] = ofLandscape;
const stepsPasses = 4;
/** A picture is late if it has not arrived when the next frame is due. */
const frameMsMax = 66;

const rows = {
  steps: ({ name }: Kind) => `${name}: decode, scale, encode alone`,
  paced: (kind: Kind) => `${rows.steps(kind)}, at the pace of ${plans.full.calls} calls`,
  calls: ({ name }: Kind, count: number) => `${name}: ${count} call${count === 1 ? '' : 's'}`,
  work: (kind: Kind, count: number) => `${rows.calls(kind, count)}, the worker alone`,
  most: ({ name }: Kind) => `${name}: the most calls held`,
};

async function measure(measurement: Measurement): Promise<void> {
  const plan = plans[measurement.scale];
  const clips = new NaturalClips({ ...plan, repeats: 1 });
  try {
    const sources = { mjpeg: await clips.clip('mjpeg', source), h264: await clips.clip('h264', source) };
    await interleave(plan.kinds, measurement.runs, (kind) =>
      measureKind(kind, sources[kind.format], measurement),
    );
  } finally {
    clips.remove();
  }
}

async function measureKind(kind: Kind, clip: Clip, measurement: Measurement): Promise<void> {
  const { steps, paced } = await measureSteps(clip, measurement);
  measurement.samples.add(rows.steps(kind), { cpuShare: steps });
  measurement.samples.add(rows.paced(kind), { cpuShare: paced });
  const legs = new Player<LegsProtocol>(moduleBeside('../media/legs-process', import.meta.url));
  let server: ReveilleServer | null = null;
  try {
    // A load limit of 1 admits every call that the media process can still carry.
    const env = {
      REVEILLE_MEDIA_PROCESS: 'child',
      REVEILLE_MEDIA_BRIDGE_KEYS: bridgeKey,
      REVEILLE_MEDIA_LOAD_MAX: '1',
    };
    server = await startReveille({ devices: plans[measurement.scale].callsMax, env });
    await legs.service.ask('load', clip.file);
    await measureCalls(kind, new CallLoad(server, legs, kind.hasSound), measurement);
  } finally {
    await legs.stop();
    await server?.stop();
  }
}

/** CPU shares of transcoding one call's pictures on one thread, without the call. */
async function measureSteps(
  clip: Clip,
  { scale, trouble }: Measurement,
): Promise<Readonly<Record<'steps' | 'paced', number>>> {
  const entry = moduleBeside('../media/transcoder-process', import.meta.url);
  const { service, child } = new Player<TranscoderProtocol>(entry, { core: serverCore });
  if (expectation === undefined) throw new Error('there is a fitted picture to make');
  const asked = { expectation, passes: stepsPasses };
  const shareOf = ({ wrong, cpuSeconds, frames }: PictureReading): number => {
    if (wrong > 0) trouble.add(`${wrong} pictures of one thread were wrong`);
    return (cpuSeconds / frames) * framesPerSecond;
  };
  try {
    await service.ask('load', clip.file);
    await service.ask('steps', { ...asked, passes: 1 });
    const steps = shareOf(await service.ask('steps', asked));
    const pace = { framesPerSecond: framesPerSecond * plans[scale].calls };
    return { steps, paced: shareOf(await service.ask('steps', { ...asked, ...pace })) };
  } finally {
    await child.stop();
  }
}

async function measureCalls(
  kind: Kind,
  load: CallLoad,
  { scale, samples, trouble }: Measurement,
): Promise<void> {
  const plan = plans[scale];
  await sleep(plan.warmUpSeconds * 1000);
  const idle = await load.idleShare(plan.warmUpSeconds);
  for (const count of [1, plan.calls]) {
    const row = rows.calls(kind, count);
    if ((await load.growTo(count)) < count) trouble.add(`${row}: not all were admitted`);
    await load.play(plan.warmUpSeconds);
    const { reading, cpuShare, loadShare } = await load.play(plan.seconds);
    const { missing, frames, latency } = reading;
    if (missing > 0) trouble.add(`${row}: ${missing} of ${frames} pictures did not come`);
    const share = { cpuShare: (cpuShare - idle) / count, loadBusy: loadShare * 100 };
    samples.add(row, { ...share, p50: latency.p50Ms, p99: latency.p99Ms });
    samples.add(rows.work(kind, count), await load.workTimes());
  }
  samples.add(rows.most(kind), await findMost(load, plan));
}

async function findMost(
  load: CallLoad,
  { callsPerLevel, levelSeconds, calls, callsMax }: (typeof plans)['full' | 'smoke'],
): Promise<Record<string, number>> {
  let held: Record<string, number> = { held: 0 };
  for (let count = calls; count <= callsMax; count += callsPerLevel) {
    if ((await load.growTo(count)) < count) break;
    await load.play(1);
    const level = (await tryLevel(load, levelSeconds)) ?? (await tryLevel(load, levelSeconds));
    if (level === null) break;
    held = { held: count, ...level };
  }
  return held;
}

/** Null: a picture was missing, or they were late. */
async function tryLevel(load: CallLoad, seconds: number): Promise<Record<string, number> | null> {
  const { reading, loadShare } = await load.play(seconds);
  const { p50Ms: p50, p99Ms: p99 } = reading.latency;
  return reading.missing > 0 || p99 >= frameMsMax ? null : { p50, p99, loadBusy: loadShare * 100 };
}

function targetsOf(kind: Kind): Target[] {
  const row = rows.calls(kind, calls);
  const held: Target[] = [
    {
      what: `Calls held on one core, ${kind.name}`,
      row: rows.most(kind),
      metric: 'held',
      unit: '',
      compared: { kind: 'alone' },
      bound: null,
    },
  ];
  if (kind.hasSound) return held;
  return [
    ...held,
    {
      what: '… core share of a call, against its pictures’ steps in a loop',
      row,
      metric: 'cpuShare',
      unit: '',
      compared: ratioTo(rows.steps(kind)),
      bound: null,
    },
    {
      what: `… against the steps at the pace of ${calls} calls`,
      row,
      metric: 'cpuShare',
      unit: '',
      compared: ratioTo(rows.paced(kind)),
      bound: atMost(1.3),
    },
    {
      what: `… p99 of a picture at ${calls} calls, against the worker’s own`,
      row,
      metric: 'p99',
      unit: 'ms',
      compared: ratioTo(rows.work(kind, calls)),
      bound: atMost(2),
    },
  ];
}

const { seconds, calls, callsPerLevel, levelSeconds } = plans.full;

export const callsHeld: Benchmark = {
  title: 'Calls at the media process',
  runs: 1,
  notes: [
    `Natural clips of ${source.width}×${source.height} to 320×240 fit, ${framesPerSecond} frames a second, ${seconds} s; server and media process on one core, the legs on ` +
      'the other. Sound: PCM and A-law, both ways.',
    `Core share: CPU of the media process less that of an idle one; floors: the same steps in a loop, and with a pause after each frame, as ${calls} calls have it. ` +
      'Latency: from the frame at the bridge leg to its picture at the device leg; floor: the worker’s own time.',
    `Calls held: ${callsPerLevel} more at a time, ${levelSeconds} s each, until twice in a row the p99 is ${frameMsMax} ms or a frame has no picture, or until no more are admitted.`,
  ],
  columns: [
    { metric: 'cpuShare', title: 'core share of a call', digits: 4 },
    { metric: 'p50', title: 'p50 ms', digits: 2 },
    { metric: 'p99', title: 'p99 ms', digits: 2 },
    { metric: 'held', title: 'calls held', digits: 0 },
    { metric: 'loadBusy', title: 'legs’ core busy %', digits: 0 },
  ],
  targets: kinds.flatMap(targetsOf),
  measure,
};
