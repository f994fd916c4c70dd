/** How the figure of cores is reported: its rows, its columns, and each target of so many processes against alone. */
import type { Column, Figure, Target } from './figure.ts';
import type { CoresKind, Plan } from './plan.ts';
import { loginConcurrency } from './players.ts';
import { queryConnections, batchConnections } from './query-backend.ts';
import { difference, ratio, type Samples } from './samples.ts';
import { devicesOfBatch } from './signed-requests.ts';
import type { Trouble } from './trouble.ts';
import { wakeConnections } from './wake-figure.ts';

export const alone = 'alone';

/** What is measured: one server of so many processes, or several servers on the same core. */
export interface Contender {
  readonly name: string;
  /** Null: alone. */
  readonly processes: number | null;
  readonly servers: number;
}

/**
 * The last is the floor: as many servers as the most processes, each alone and with as much to do, that have nothing in common
 * but the core. What they cost above one is the core's, which keeps one program's code and data near and not eight's.
 */
export function contendersOf({ cores: { processes } }: Plan): readonly Contender[] {
  const most = processes.at(-1);
  return [
    { name: alone, processes: null, servers: 1 },
    ...processes.map((count) => ({ name: coresName(count), processes: count, servers: 1 })),
    ...(most === undefined ? [] : [{ name: serversName(most), processes: null, servers: most }]),
  ];
}

function coresName(processes: number): string {
  return `--processes ${processes}`;
}

function serversName(servers: number): string {
  return `${servers} servers`;
}

interface Compared {
  readonly metric: string;
  readonly what: string;
  readonly atMost: number;
  /** Of the difference in ms where it is no ratio. */
  readonly isDifference?: boolean;
}

/** What is shown of each kind, and what is asked of it with the most processes. */
const reports: Readonly<Record<CoresKind, { columns: readonly Column[]; compared: readonly Compared[] }>> = {
  login: {
    columns: [
      { metric: 'loginUs', title: 'CPU µs/login', digits: 1 },
      { metric: 'loginRate', title: 'logins/s on this core', digits: 0 },
    ],
    compared: [{ metric: 'loginUs', what: 'CPU of a login', atMost: 1.3 }],
  },
  query: {
    columns: [
      { metric: 'queryUs', title: 'CPU µs/query', digits: 1 },
      { metric: 'queryRate', title: 'queries/s on this core', digits: 0 },
    ],
    compared: [{ metric: 'queryUs', what: 'CPU of a query', atMost: 1.2 }],
  },
  batch: {
    columns: [
      { metric: 'batchUs', title: 'CPU µs/device of a batch', digits: 2 },
      { metric: 'batchP99', title: 'p99 ms', digits: 1 },
    ],
    compared: [{ metric: 'batchUs', what: 'CPU of a device in a batch', atMost: 1.2 }],
  },
  status: {
    columns: [{ metric: 'statusUs', title: 'CPU µs/call status', digits: 1 }],
    compared: [{ metric: 'statusUs', what: 'CPU of a call status', atMost: 1.2 }],
  },
  wakeup: {
    columns: [
      { metric: 'wakeupUs', title: 'CPU µs/wakeup', digits: 1 },
      { metric: 'idleP50', title: 'idle p50 ms', digits: 3 },
      { metric: 'idleP99', title: 'p99 ms', digits: 3 },
      { metric: 'loadedP50', title: 'loaded p50 ms', digits: 3 },
      { metric: 'loadedP99', title: 'p99 ms', digits: 3 },
    ],
    compared: [
      { metric: 'wakeupUs', what: 'CPU of a wakeup', atMost: 1.6 },
      { metric: 'idleP50', what: 'p50 of a wakeup, idle, ms', atMost: 0.3, isDifference: true },
      { metric: 'loadedP50', what: 'p50 of a wakeup, loaded, ms', atMost: 0.3, isDifference: true },
    ],
  },
  memory: {
    columns: [{ metric: 'pssBytes', title: 'PSS bytes/sleeping device', digits: 0 }],
    compared: [{ metric: 'pssBytes', what: 'PSS of a sleeping device', atMost: 1.1 }],
  },
  spread: {
    columns: [{ metric: 'spreadPercent', title: 'sessions of a worker off the mean, % at most', digits: 1 }],
    compared: [],
  },
};

export function describeCores(plan: Plan, samples: Samples, trouble: Trouble): Figure {
  const { kinds, processes } = plan.cores;
  const most = processes.at(-1);
  return {
    name: 'cores',
    title: 'Several processes of one server',
    notes: notes(plan),
    columns: [
      ...kinds.flatMap((kind) => reports[kind].columns),
      { metric: 'idlePercent', title: '% of the core at rest', digits: 2 },
    ],
    samples,
    targets: [
      ...processes.flatMap((count) =>
        kinds.flatMap((kind) =>
          reports[kind].compared.map((compared) => target(samples, count, compared, count === most)),
        ),
      ),
      ...(most === undefined ? [] : floorTargets(plan, samples, most)),
      ...(kinds.includes('spread') ? processes.flatMap((count) => spreadTarget(samples, count)) : []),
    ],
    trouble: trouble.list,
  };
}

function notes({ cores }: Plan): string[] {
  const { sessions, dates, warmUps, seconds, oneByOne, ratePerSecond, memorySessions, spreadSessions } =
    cores;
  return [
    'CPU is that of all processes of the server (supervisor, coordinator, workers, spare) for each unit. All of them are ' +
      'pinned to one core and the load to the other: more processes get no more room, so the ratio to alone is what they ' +
      'cost, and rates are those of one core.',
    `Everything is measured behind a warm-up, for several workers compile the same code each: for each worker ${warmUps.query} queries, ` +
      `${warmUps.status} call statuses, ${warmUps.batch} batches, ${warmUps.wakeup} wakeups, and logins of ${warmUps.login} other devices, which leave again.`,
    `"${serversName(cores.processes.at(-1) ?? 1)}": as many servers, each alone, with a store of its own and as much to do as a worker has; they share ` +
      'nothing but the core, and show what sharing it costs by itself.',
    `${sessions} devices log in in a burst, ${loginConcurrency} under way at once for each worker, and sleep wherever they were ` +
      'accepted; callers ask any worker, over connections that the kernel has spread. ' +
      'Every worker has as many connections as one alone. Default settings, but the limits of wakeups, which are raised.',
    `Queries, call statuses: ${sessions * dates} distinct signed requests, ${queryConnections} connections for each worker, a closed ` +
      `loop of ${seconds} s. Batches: ${devicesOfBatch} devices each, ${batchConnections} connections for each worker.`,
    `Wakeups: idle, ${oneByOne} one at a time; loaded, ${ratePerSecond}/s in all for ${seconds} s in an open loop ` +
      `over ${wakeConnections} connections for each worker, counted from when each was due. CPU is of the load, what the processes take at rest included.`,
    `Memory: a fresh server with ${memorySessions} devices for each process; the growth of PSS of all processes since before ` +
      'the first login, each time behind a rest and two forced collections.',
    `Spread: ${spreadSessions} devices; how far the worker that is furthest off has more or fewer than the mean.`,
  ];
}

function target(samples: Samples, count: number, compared: Compared, isAsked: boolean): Target {
  const { metric, what, atMost, isDifference = false } = compared;
  const name = coresName(count);
  return {
    what: `${name} ${isDifference ? '−' : '/'} ${alone}, ${what}`,
    measured: samples.compare(metric, name, alone, isDifference ? difference : ratio),
    bound: isAsked ? { kind: 'at most', value: atMost } : null,
    digits: isDifference ? 3 : 2,
  };
}

/** Against so many servers that share the core: what the processes of one server cost more. */
function floorTargets({ cores: { kinds } }: Plan, samples: Samples, most: number): Target[] {
  const compared = kinds
    .filter((kind) => kind !== 'memory')
    .flatMap((kind) => reports[kind].compared.filter(({ isDifference }) => isDifference !== true));
  return compared.map(({ metric, what }) => ({
    what: `${coresName(most)} / ${serversName(most)}, ${what}`,
    measured: samples.compare(metric, coresName(most), serversName(most), ratio),
    bound: null,
    digits: 2,
  }));
}

const spreadPercentMax = 10;

function spreadTarget(samples: Samples, count: number): Target[] {
  const measured = samples.spread(coresName(count), 'spreadPercent');
  if (measured === null) return [];
  const what = `${coresName(count)}, sessions of a worker off the mean, %`;
  return [{ what, measured, bound: { kind: 'at most', value: spreadPercentMax }, digits: 1 }];
}
