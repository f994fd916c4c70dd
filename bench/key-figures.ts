/**
 * The key figures, from the stored results: at the top of the benchmarks page, and three of them in README. Each is a median of
 * the tables under Details, or the quotient with the one in parentheses.
 */
import { benchmarks } from './benchmarks.ts';
import { formatNumber, table } from './harness/tables.ts';
import { readResult } from './results.ts';

/** Reads cells of one benchmark's table. */
class Cells {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  /** Throws without a stored result, row or column. */
  number(row: string, metric: string): number {
    return Number(this.text(row, metric).replaceAll(',', ''));
  }

  /** Formats like the table. Throws like `number`. */
  text(row: string, metric: string): string {
    const median = readResult(this.#name)?.samples.spread(row, metric)?.median;
    const digits = benchmarks[this.#name]?.columns.find((column) => column.metric === metric)?.digits;
    if (median === undefined || digits === undefined)
      throw new Error(`no ${metric} of ${row} is stored: npm run bench -- ${this.#name} --save`);
    return formatNumber(median, digits);
  }

  /** The number of items in `whole`, with the size of one: `1,234 (5.6 B each)`. */
  countIn(whole: number, row: string, metric: string, unit: string): string {
    return `${formatNumber(Math.floor(whole / this.number(row, metric)), 0)} (${this.text(row, metric)} ${unit})`;
  }
}

interface KeyFigure {
  readonly title: string;
  readonly benchmark: string;
  readonly ours: (cells: Cells) => string;
  readonly others: (cells: Cells) => string;
}

const gigabyte = 1e9;
const microsecondsPerSecond = 1e6;
const bareWakeup = 'bare uWS + Map';

const keyFigures: readonly KeyFigure[] = [
  {
    title: 'Sleeping devices in 1 GB',
    benchmark: 'memory',
    ours: (cells) => cells.countIn(gigabyte, 'asleep', 'bytes', 'B each'),
    others: (cells) =>
      `${cells.countIn(gigabyte, 'aedes', 'bytes', 'B each')} in aedes, an MQTT broker for Node; ` +
      `${cells.countIn(gigabyte, 'bare node:net', 'bytes', 'B each')} bare sockets`,
  },
  {
    title: 'Wakeup, from the POST to the 8 bytes at the device',
    benchmark: 'wakeups',
    ours: (cells) => `${cells.text('pool', 'idleP50')} ms p50, ${cells.text('pool', 'idleP99')} ms p99`,
    others: (cells) =>
      `${cells.text(bareWakeup, 'idleP50')} ms p50, ${cells.text(bareWakeup, 'idleP99')} ms p99: a bare handler that writes to a socket`,
  },
  {
    title: 'Wakeups a second that a core has CPU for',
    benchmark: 'wakeups',
    ours: (cells) => cells.countIn(microsecondsPerSecond, 'pool', 'cpuUs', 'µs each'),
    others: (cells) =>
      `${cells.countIn(microsecondsPerSecond, bareWakeup, 'cpuUs', 'µs each')}: the same bare handler`,
  },
  {
    title: 'Signed queries a second on a core',
    benchmark: 'queries',
    ours: (cells) => cells.text('inline', 'rate'),
    others: (cells) =>
      `unsigned: ${cells.text('Fastify', 'rate')} by Fastify, ${cells.text('bare uWS', 'rate')} by bare uWebSockets.js`,
  },
  {
    title: 'Logins a second on a core',
    benchmark: 'logins',
    ours: (cells) => cells.text('Reveille', 'rate'),
    others: (cells) =>
      `${cells.text('aedes', 'rate')} at aedes, without proof; ${cells.text('bare accept', 'rate')} bare accepts`,
  },
  {
    title: 'Video calls on a core',
    benchmark: 'calls-held',
    ours: (cells) =>
      `${cells.text('H.264: the most calls held', 'held')} of H.264, ${cells.text('H.264 and sound: the most calls held', 'held')} with sound; ` +
      `${cells.text('MJPEG: the most calls held', 'held')} of MJPEG`,
    others: (cells) =>
      `${cells.countIn(1, 'H.264: decode, scale, encode alone', 'cpuShare', 'of a core each')}: the H.264 pictures’ steps alone`,
  },
  {
    title: 'Import of 1,000,000 devices, and a start with them',
    benchmark: 'registry',
    ours: (cells) =>
      `${cells.text('1,000,000 devices', 'importSeconds')} s and ${cells.text('1,000,000 devices', 'startSeconds')} s`,
    others: (cells) =>
      `${cells.text('10,000 devices', 'importSeconds')} s and ${cells.text('10,000 devices', 'startSeconds')} s: 10,000 devices`,
  },
  {
    title: 'First wakeup after the core was killed',
    benchmark: 'core-deaths',
    ours: (cells) =>
      `${cells.text('150 000 devices, 8 edges', 'backSeconds')} s with 150,000 devices asleep at 8 edges; no session is lost`,
    others: (cells) => `${cells.text('20 000 devices, 2 edges', 'backSeconds')} s: 20,000 at 2 edges`,
  },
];

const head = ['', 'Reveille', 'for comparison', 'measured by'];

export function describeKeyFigures(): string {
  const rows = keyFigures.map(({ title, benchmark, ours, others }) => {
    const cells = new Cells(benchmark);
    return [title, ours(cells), others(cells), commandOf(benchmark)];
  });
  return table(head, rows);
}

/** The three figures of README. */
export function describeFrontFigures(): string {
  const [memory, wakeups, queries] = [new Cells('memory'), new Cells('wakeups'), new Cells('queries')];
  return table(head, [
    [
      'Memory of a sleeping device',
      `**${memory.text('asleep', 'bytes')} B**`,
      `${memory.text('aedes', 'bytes')} B in aedes, an MQTT broker for Node`,
      commandOf('memory'),
    ],
    [
      'From the POST to the 8 bytes at the device, p50',
      `**${wakeups.text('pool', 'idleP50')} ms**`,
      `${wakeups.text(bareWakeup, 'idleP50')} ms: a bare handler that writes to a socket`,
      commandOf('wakeups'),
    ],
    [
      'Signed queries a second on one core',
      `**${queries.text('inline', 'rate')}**`,
      `${queries.text('Fastify', 'rate')} by Fastify, unsigned`,
      commandOf('queries'),
    ],
  ]);
}

function commandOf(benchmark: string): string {
  return `\`npm run bench -- ${benchmark}\``;
}
