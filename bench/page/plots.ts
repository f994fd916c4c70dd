/** The plots of the page: one for each growth, from the results of its figure. */
import { assert } from '../../src/lib/assert.ts';
import type { Figure } from '../load/figure.ts';
import { drawPlot, type Panel, type Plot, type Series } from './svg-plot.ts';

interface GrowthPlot {
  /** The figure whose results it shows. */
  readonly figure: string;
  readonly draw: (figure: Figure) => Plot;
}

/** By the name of their file, without `.svg`. */
const growthPlots: Readonly<Record<string, GrowthPlot>> = {
  sessions: { figure: 'sessions', draw: plotSessions },
  rates: { figure: 'rates', draw: plotRates },
  processes: { figure: 'cores', draw: plotProcesses },
  calls: { figure: 'media-calls', draw: plotCalls },
  registry: { figure: 'registry', draw: plotRegistry },
};

export function figureOfPlot(name: string): string {
  const { figure } = growthPlots[name] ?? {};
  assert(figure !== undefined, `there is a plot ${name}`);
  return figure;
}

/** SVG by file name, of those whose figure was measured. */
export function drawPlots(figures: ReadonlyMap<string, Figure>): Map<string, string> {
  const drawn = Object.entries(growthPlots).flatMap(([name, { figure, draw }]) => {
    const measured = figures.get(figure);
    return measured === undefined ? [] : [[`${name}.svg`, drawPlot(draw(measured))] as const];
  });
  return new Map(drawn);
}

/** The medians of rows, each placed by a number of its own; a row that has no such metric is left out. */
function line(
  { samples }: Figure,
  name: string,
  { rows, x, y }: { readonly rows: RegExp; readonly x: (row: string) => number; readonly y: string },
): Series {
  const points = samples.servers
    .filter((row) => rows.test(row))
    .flatMap((row) => {
      const median = samples.spread(row, y)?.median;
      return median === undefined ? [] : [{ x: x(row), y: median }];
    });
  return { name, points: points.toSorted((one, other) => one.x - other.x) };
}

/** The first number of a row's name. */
function numberIn(row: string): number {
  return Number(/\d[\d,]*/.exec(row)?.[0].replaceAll(',', '') ?? NaN);
}

function medianOf({ samples }: Figure, metric: string): (row: string) => number {
  return (row) => samples.spread(row, metric)?.median ?? NaN;
}

function plotSessions(figure: Figure): Plot {
  const x = medianOf(figure, 'sessions');
  const alone = /^alone,/;
  const several = /^--processes/;
  const most = figure.samples.servers.find((row) => several.test(row)) ?? '';
  const processes = `${numberIn(most)} processes`;
  const axis = { title: 'sleeping devices', isLog: true, ticks: sortedOf(figure, 'sessions') };
  const of = (name: string, rows: RegExp, y: string): Series => line(figure, name, { rows, x, y });
  return {
    title: 'Cost of a sleeping device, by their number',
    description:
      'What memory has grown by, and processor time of a login and of a wakeup, the more devices sleep.',
    panels: [
      {
        title: 'Memory grown since the start: PSS, MiB',
        x: axis,
        y: { title: 'MiB' },
        series: [of('one process', alone, 'pssBytes'), of(processes, several, 'pssBytes')].map(ofAll),
      },
      {
        title: 'Processor time: µs each',
        x: axis,
        y: { title: 'µs' },
        series: [
          of('login', alone, 'loginUs'),
          of('wakeup', alone, 'wakeupUs'),
          of(`login, ${processes}`, several, 'loginUs'),
          of(`wakeup, ${processes}`, several, 'wakeupUs'),
        ],
      },
    ],
  };
}

const mebibyte = 1024 * 1024;

/** Of all together, in MiB, what was bytes of one. */
function ofAll({ name, points }: Series): Series {
  return { name, points: points.map(({ x, y }) => ({ x, y: (x * y) / mebibyte })) };
}

function sortedOf({ samples }: Figure, metric: string): number[] {
  const values = samples.servers.flatMap((row) => samples.spread(row, metric)?.median ?? []);
  return values.toSorted((one, other) => one - other);
}

function plotRates(figure: Figure): Plot {
  const of = (name: string, rows: RegExp, y: string): Series => line(figure, name, { rows, x: numberIn, y });
  const axis = { title: 'requests a second, one process', isLog: true };
  return {
    title: 'Cost and latency by rate',
    description:
      'Processor time of a query and of a wakeup, and how long they take, as more are asked each second.',
    panels: [
      {
        title: 'Processor time: µs each',
        x: axis,
        y: { title: 'µs', isLog: true },
        series: [of('query', /queries/, 'cpuUs'), of('wakeup', /wakeups/, 'cpuUs')],
      },
      {
        title: 'Latency, ms',
        x: axis,
        y: { title: 'ms', isLog: true },
        series: [
          of('query p50', /queries/, 'p50'),
          of('wakeup p50', /wakeups/, 'p50'),
          of('query p99', /queries/, 'p99'),
          of('wakeup p99', /wakeups/, 'p99'),
        ],
      },
    ],
  };
}

const unitsOfCores = {
  query: 'queryUs',
  'batch, a device': 'batchUs',
  'call status': 'statusUs',
  login: 'loginUs',
  wakeup: 'wakeupUs',
  memory: 'pssBytes',
} as const;

function plotProcesses(figure: Figure): Plot {
  const rows = /^--processes/;
  const counts = figure.samples.servers.filter((row) => rows.test(row)).map(numberIn);
  const axis = { title: 'processes', isLog: true, ticks: counts };
  const of = (name: string, y: string): Series => line(figure, name, { rows, x: numberIn, y });
  const ratios = Object.entries(unitsOfCores).map(([name, metric]) => {
    const alone = medianOf(figure, metric)('alone');
    const { points } = of(name, metric);
    return { name, points: points.map(({ x, y }) => ({ x, y: y / alone })) };
  });
  return {
    title: 'Cost of a unit by the number of processes, against one process alone',
    description:
      'Processor time over all processes of a query, a device of a batch, a call status, a login and a wakeup, and memory of a ' +
      'sleeping device, as multiples of one process alone; and how long a wakeup takes.',
    panels: [
      {
        title: 'Cost of each, alone = 1',
        x: axis,
        y: { title: '×', isLog: ratios.some(({ points }) => points.some(({ y }) => y > 3)) },
        series: ratios.filter(({ points }) => points.length > 0),
        limit: { y: 1, name: 'alone' },
      },
      {
        title: 'A wakeup, p50 ms',
        x: axis,
        y: { title: 'ms' },
        series: [of('one at a time', 'idleP50'), of('at 800/s', 'loadedP50')],
        limit: { y: medianOf(figure, 'idleP50')('alone'), name: 'alone, one at a time' },
      },
    ],
  };
}

const lateMs = 66;

function plotCalls(figure: Figure): Plot {
  const kinds = ['MJPEG', 'H.264', 'H.264 and sound'];
  const of = (y: string): Series[] =>
    kinds
      .map((kind) => {
        const rows = new RegExp(`^${kind.replace('.', '\\.')}: \\d+ calls?$`);
        return line(figure, kind, { rows, x: (row) => numberIn(row.slice(kind.length)), y });
      })
      .filter(({ points }) => points.length > 0);
  const axis = { title: 'calls at once, on one core' };
  return {
    title: 'Calls on one core',
    description:
      'The share of a core that a call takes, and how late its pictures come, the more calls there are.',
    panels: [
      { title: 'A call’s share of the core', x: axis, y: { title: 'core' }, series: of('cpuShare') },
      {
        title: 'A picture’s latency, p99 ms',
        x: axis,
        y: { title: 'ms', isLog: true },
        series: of('p99'),
        limit: { y: lateMs, name: 'the next picture is due' },
      },
    ],
  };
}

function plotRegistry(figure: Figure): Plot {
  const axis = { title: 'devices in the registry', isLog: true, ticks: sortedOf(figure, 'devices') };
  const of = (name: string, y: string): Series =>
    line(figure, name, { rows: /devices$/, x: medianOf(figure, 'devices'), y });
  const panel = (title: string, series: readonly Series[], isLog = false): Panel => ({
    title,
    x: axis,
    y: { title, isLog },
    series,
  });
  return {
    title: 'Cost of a registry by the number of its devices',
    description:
      'How long an import and a start take, bytes on disk a device, time of a look-up, and memory of a server at rest.',
    panels: [
      panel('Import and start, s', [of('import', 'importSeconds'), of('start', 'startSeconds')], true),
      panel('Disk, bytes a device', [of('disk', 'diskBytes')]),
      panel('A look-up, µs', [of('look-up', 'lookupUs')]),
      panel('Memory of a server at rest, MiB', [of('RssAnon', 'memory')]),
    ],
  };
}
