/**
 * Figure: storms. What comes back in the same moment, with and without the advice of the welcome and the ramp of the listener; and
 * one application's wakeups beside another's storm.
 */
import { measureBridges } from './bridge-storm.ts';
import type { Figure, Target } from './figure.ts';
import { measureNeighbours, neighbourRows } from './neighbour-storm.ts';
import type { Plan } from './plan.ts';
import { measureCity, measureRestart, type Comeback, type StormStudy } from './reconnect-storm.ts';
import { ratio, Samples } from './samples.ts';
import { moduleRetry } from './storm-protocol.ts';
import { Trouble } from './trouble.ts';

const neighbourRatioMax = 2;

export async function measureStorms(plan: Plan): Promise<Figure> {
  const study: StormStudy = { plan: plan.storms, samples: new Samples(), trouble: new Trouble() };
  for (let run = 0; run < plan.runs; run += 1) await measureAll(study);
  return describe(study);
}

async function measureAll(study: StormStudy): Promise<void> {
  const { kinds, sessions, processes, sessionsOfProcess, bridges } = study.plan;
  if (kinds.includes('restart'))
    for (const comeback of comebacks(study))
      await measureRestart(`restart, ${counted(sessions)} ${inWords(comeback)}`, comeback, study);
  if (kinds.includes('city'))
    await measureCity(
      (manner) => `a city, ${counted(processes * sessionsOfProcess)} ${manner}`,
      ['at once', 'as advised'],
      study,
    );
  if (kinds.includes('bridges'))
    for (const manner of ['at once', 'as advised'] as const)
      await measureBridges(`${counted(bridges)} bridges ${manner}`, manner, study);
  if (kinds.includes('neighbour')) await measureNeighbours(study);
}

function comebacks({ plan: { rampSeconds } }: StormStudy): readonly Comeback[] {
  return [
    { manner: 'at once', rampSeconds: 0 },
    { manner: 'at once', rampSeconds },
    { manner: 'as advised', rampSeconds: 0 },
    { manner: 'as advised', rampSeconds },
  ];
}

function inWords({ manner, rampSeconds }: Comeback): string {
  return rampSeconds === 0 ? manner : `${manner}, ramp ${rampSeconds} s`;
}

function counted(count: number): string {
  return count.toLocaleString('en-US');
}

function describe({ plan, samples, trouble }: StormStudy): Figure {
  const {
    sessions,
    processes,
    sessionsOfProcess,
    bridges,
    queriesPerSecond,
    querySeconds,
    rampSeconds,
    neighbour,
  } = plan;
  const { minSeconds, maxSeconds, jitter } = moduleRetry['as advised'];
  return {
    name: 'storms',
    title: 'Storms',
    notes: [
      `Restart: a server with ${counted(sessions)} sleeping modules is killed and started anew; seconds count from its being ready. ` +
        `A city: ${counted(processes * sessionsOfProcess)} modules at ${processes} processes lose their connections in the same moment, in both manners one after the other; servers and load are pinned nowhere. ` +
        `Bridges: the media process with ${counted(bridges)} idle ones from one address is killed, the limit of handshakes from one address as it is.`,
      `At once: again every second, all in the same one. As advised: as the welcome’s \`retry\` says (${minSeconds} s, doubled up to ${maxSeconds} s, by chance up to ${jitter * 100} % shorter or longer); bridges wait 0.5 s, doubled up to 30 s. ` +
        `Ramp: \`sleep.accept_ramp_s\` of ${rampSeconds}.`,
      `From then on ${queriesPerSecond} signed queries a second for ${querySeconds} s; CPU is that of all processes of the server, queries included, by those that came back.`,
      `Neighbour: ${neighbour.ratePerSecond} wakeups a second of one application’s ${counted(neighbour.neighbours)} devices, alone and beside another application that asks for ` +
        `${counted(neighbour.stormPerSecond)} a second of its ${counted(neighbour.sessions)}.`,
    ],
    columns: [
      { metric: 'halfSeconds', title: 'half are back, s', digits: 1 },
      { metric: 'allSeconds', title: 'all are back, s', digits: 1 },
      { metric: 'failed', title: 'failed attempts', digits: 0 },
      { metric: 'cpuUs', title: 'CPU µs each', digits: 0 },
      { metric: 'queryP50', title: 'query p50 ms', digits: 1 },
      { metric: 'queryP99', title: 'query p99 ms', digits: 0 },
      { metric: 'queryMax', title: 'query max ms', digits: 0 },
      { metric: 'wrong', title: 'wrong answers', digits: 0 },
      { metric: 'wakeP50', title: 'wakeup p50 ms', digits: 2 },
      { metric: 'wakeP99', title: 'wakeup p99 ms', digits: 1 },
      { metric: 'wakeMax', title: 'wakeup max ms', digits: 0 },
      { metric: 'asked', title: 'storm asked for /s', digits: 0 },
      { metric: 'accepted', title: 'storm woke /s', digits: 0 },
      { metric: 'busy', title: 'busy %', digits: 0 },
    ],
    samples,
    targets: plan.kinds.includes('neighbour') ? neighbourTargets(samples) : [],
    trouble: trouble.list,
  };
}

function neighbourTargets(samples: Samples): readonly Target[] {
  const { alone, limited, raised } = neighbourRows;
  return [limited, raised].map((row) => ({
    what: `${row} / alone, p99 of a neighbour’s wakeup`,
    measured: samples.compare('wakeP99', row, alone, ratio),
    bound: { kind: 'at most', value: neighbourRatioMax },
    digits: 2,
  }));
}
