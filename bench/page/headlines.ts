/** The table at the top of the page: of each target that was set, ours, the peer's, their ratio and whether it is met. */
import { formatNumber, isMet, table, type Figure } from '../load/figure.ts';

/** A cell: the row and the metric of a figure. */
interface Cell {
  readonly row: string;
  readonly metric: string;
}

interface Headline {
  readonly what: string;
  readonly figure: string;
  /** As the figure names the comparison. */
  readonly target: string;
  readonly ours: Cell;
  readonly peer: Cell | null;
  readonly unit: string;
}

const cell = (row: string, metric: string): Cell => ({ row, metric });

const ofOneCore: readonly Headline[] = [
  {
    what: 'Signed queries per CPU-second, against Fastify (unsigned)',
    figure: 'queries',
    target: 'inline / Fastify, queries per server CPU-second',
    ours: cell('inline', 'perCpuSecond'),
    peer: cell('Fastify', 'perCpuSecond'),
    unit: '/s',
  },
  {
    what: '… against bare uWebSockets.js (unsigned)',
    figure: 'queries',
    target: 'inline / bare uWS, queries per server CPU-second',
    ours: cell('inline', 'perCpuSecond'),
    peer: cell('bare uWS', 'perCpuSecond'),
    unit: '/s',
  },
  {
    what: 'Signed queries with `pool`, main thread, against `inline`',
    figure: 'queries',
    target: 'pool / inline, main thread CPU per query',
    ours: cell('pool', 'mainCpuUs'),
    peer: cell('inline', 'mainCpuUs'),
    unit: 'µs',
  },
  {
    what: 'Call credentials, against connectivity queries',
    figure: 'calls',
    target: 'pool: credentials / connectivity, rate',
    ours: cell('pool: credentials', 'rate'),
    peer: cell('pool: connectivity', 'rate'),
    unit: '/s',
  },
  {
    what: 'Wakeup to the device, idle p99, against a bare POST → socket',
    figure: 'wakeups',
    target: 'pool / bare, p99 idle',
    ours: cell('pool', 'idleP99'),
    peer: cell('bare uWS + Map', 'idleP99'),
    unit: 'ms',
  },
  {
    what: '… p99 at 3 000/s',
    figure: 'wakeups',
    target: 'pool / bare, p99 at 3000/s',
    ours: cell('pool', 'loadedP99'),
    peer: cell('bare uWS + Map', 'loadedP99'),
    unit: 'ms',
  },
  {
    what: '… CPU of a wakeup at 3 000/s',
    figure: 'wakeups',
    target: 'pool / bare, server CPU per wakeup',
    ours: cell('pool', 'cpuUs'),
    peer: cell('bare uWS + Map', 'cpuUs'),
    unit: 'µs',
  },
  {
    what: 'Logins per CPU-second, against aedes (MQTT, no proof)',
    figure: 'logins',
    target: 'Reveille / aedes, logins per server CPU-second',
    ours: cell('Reveille', 'perCpuSecond'),
    peer: cell('aedes', 'perCpuSecond'),
    unit: '/s',
  },
  {
    what: 'CPU of a login, against accepting a socket',
    figure: 'logins',
    target: 'Reveille / bare accept, server CPU per login',
    ours: cell('Reveille', 'cpuUs'),
    peer: cell('bare accept', 'cpuUs'),
    unit: 'µs',
  },
  {
    what: 'Memory of a sleeping device, against a bare socket',
    figure: 'memory',
    target: 'Reveille / bare node:net',
    ours: cell('Reveille', 'bytes'),
    peer: cell('bare node:net', 'bytes'),
    unit: 'B',
  },
  {
    what: 'Memory of a signal session, against a bare WebSocket',
    figure: 'signal',
    target: 'Reveille / bare, bytes/session in steady state',
    ours: cell('Reveille', 'steadyBytes'),
    peer: cell('bare ws', 'steadyBytes'),
    unit: 'B',
  },
  {
    what: 'Event to webhook p50, against a bare POST',
    figure: 'webhooks',
    target: 'Reveille / bare POST, p50',
    ours: cell('Reveille', 'p50'),
    peer: cell('bare POST', 'p50'),
    unit: 'ms',
  },
  ...['640×480 → 320×240 fit', '640×480 → 160×100 fill', '240×320 → 74×100 fit'].map((sizes): Headline => ({
    what: `MJPEG ${sizes}: frames per CPU-second, against ffmpeg`,
    figure: 'media',
    target: `MJPEG ${sizes}: Reveille / ffmpeg, frames per CPU-second`,
    ours: cell(`MJPEG ${sizes}: Reveille`, 'perCpuSecond'),
    peer: cell(`MJPEG ${sizes}: ffmpeg`, 'perCpuSecond'),
    unit: '/s',
  })),
  ...['MJPEG', 'H.264'].flatMap((kind): Headline[] => [
    {
      what: `Core share of a call, ${kind}, against its pictures’ steps`,
      figure: 'media-calls',
      target: `${kind}: 10 calls / ${kind}: decode, scale, encode alone, core share`,
      ours: cell(`${kind}: 10 calls`, 'cpuShare'),
      peer: cell(`${kind}: decode, scale, encode alone`, 'cpuShare'),
      unit: '',
    },
    {
      what: `Latency p99 of a picture at 10 calls, ${kind}, against the worker’s own`,
      figure: 'media-calls',
      target: `${kind}: 10 calls / ${kind}: 10 calls, the worker alone, p99`,
      ours: cell(`${kind}: 10 calls`, 'p99'),
      peer: cell(`${kind}: 10 calls, the worker alone`, 'p99'),
      unit: 'ms',
    },
    {
      what: `Calls held on one core, ${kind}`,
      figure: 'media-calls',
      target: `${kind}: the most calls held`,
      ours: cell(`${kind}: the most calls held`, 'held'),
      peer: null,
      unit: '',
    },
  ]),
];

const eight = '--processes 8';
const cores = (what: string, metric: string, target: string, unit: string): Headline => ({
  what: `${what}, 8 processes against one`,
  figure: 'cores',
  target,
  ours: cell(eight, metric),
  peer: cell('alone', metric),
  unit,
});

const ofCores: readonly Headline[] = [
  cores('CPU of a query', 'queryUs', `${eight} / alone, CPU of a query`, 'µs'),
  cores('CPU of a device in a batch', 'batchUs', `${eight} / alone, CPU of a device in a batch`, 'µs'),
  cores('CPU of a call status', 'statusUs', `${eight} / alone, CPU of a call status`, 'µs'),
  cores('CPU of a login', 'loginUs', `${eight} / alone, CPU of a login`, 'µs'),
  cores('CPU of a wakeup', 'wakeupUs', `${eight} / alone, CPU of a wakeup`, 'µs'),
  cores('p50 of a wakeup, idle', 'idleP50', `${eight} − alone, p50 of a wakeup, idle, ms`, 'ms'),
  cores('p50 of a wakeup at 800/s', 'loadedP50', `${eight} − alone, p50 of a wakeup, loaded, ms`, 'ms'),
  cores('PSS of a sleeping device', 'pssBytes', `${eight} / alone, PSS of a sleeping device`, 'B'),
  {
    what: 'PSS of a sleeping device, 150 000 at 8 processes against one full process',
    figure: 'sessions',
    target: '--processes 8, 150,000 sessions / alone, 18,900 sessions, PSS of a sleeping device',
    ours: cell('--processes 8, 150,000 sessions', 'pssBytes'),
    peer: cell('alone, 18,900 sessions', 'pssBytes'),
    unit: 'B',
  },
  {
    what: 'p50 of a wakeup at 1 000/s, another node against the same',
    figure: 'hops',
    target: 'another node − local, p50 loaded, ms',
    ours: cell('two nodes, the other one', 'loadedP50'),
    peer: cell('two nodes, same one', 'loadedP50'),
    unit: 'ms',
  },
];

/** Markdown; what was not measured is not in it. */
export function describeHeadlines(figures: ReadonlyMap<string, Figure>): string {
  const tables = [
    ['one core', rowsOf(ofOneCore, figures)],
    ['processes and nodes', rowsOf(ofCores, figures)],
  ] as const;
  return tables
    .filter(([, rows]) => rows.length > 0)
    .map(([what, rows]) => table([what, 'ours', 'peer', 'ratio', 'target', ''], rows))
    .join('\n\n');
}

function rowsOf(headlines: readonly Headline[], figures: ReadonlyMap<string, Figure>): string[][] {
  return headlines.flatMap((headline) => {
    const figure = figures.get(headline.figure);
    return figure === undefined ? [] : rowOf(headline, figure);
  });
}

/** A figure of which only a part was measured has fewer targets. */
function rowOf({ what, target: wanted, ours, peer, unit }: Headline, figure: Figure): string[][] {
  const target = figure.targets.find((one) => one.what === wanted);
  if (target === undefined) return [];
  const { measured, bound, digits } = target;
  const isDifference = wanted.includes(' − ');
  const asked = bound === null ? '' : `${bound.kind === 'at most' ? '≤' : '≥'} ${bound.value}`;
  const ratio = peer === null ? '' : formatNumber(measured.median, digits);
  const verdict = isMet(target) === null ? '' : isMet(target) ? 'met' : '**missed**';
  return [
    [
      what,
      show(figure, ours, unit),
      peer === null ? '' : show(figure, peer, unit),
      isDifference ? `${measured.median < 0 ? '' : '+'}${ratio} ms` : ratio,
      asked,
      verdict,
    ],
  ];
}

const digitsShown = 3;

/** Three digits, and all that stand before the point. */
function show({ samples }: Figure, { row, metric }: Cell, unit: string): string {
  const median = samples.spread(row, metric)?.median;
  if (median === undefined) return '';
  const whole = Math.floor(Math.log10(Math.abs(median) || 1)) + 1;
  return `${formatNumber(median, Math.max(0, digitsShown - whole))} ${unit}`.trim();
}
