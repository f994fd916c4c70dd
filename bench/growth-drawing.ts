/**
 * The drawing of the benchmarks page: costs by the number of devices, each relative to its own at the least number. Colours of
 * medium brightness are readable on a light and on a dark page.
 */
import type { Samples } from './harness/samples.ts';
import { readResult } from './results.ts';

interface Cost {
  readonly benchmark: 'growth' | 'registry';
  readonly title: string;
  readonly colour: string;
  /** Null: the row does not have it. */
  readonly of: (samples: Samples, row: string) => number | null;
}

const medianOf =
  (metric: string): Cost['of'] =>
  (samples, row) =>
    samples.spread(row, metric)?.median ?? null;

const costs: readonly Cost[] = [
  { benchmark: 'growth', title: 'CPU of a login', colour: '#3f87d9', of: medianOf('loginUs') },
  { benchmark: 'growth', title: 'CPU of a wakeup', colour: '#d9702b', of: medianOf('wakeUs') },
  { benchmark: 'growth', title: 'CPU of a query', colour: '#2f9e62', of: medianOf('queryUs') },
  { benchmark: 'growth', title: 'memory of a device', colour: '#a368d6', of: medianOf('bytes') },
  { benchmark: 'registry', title: 'look-up in the registry', colour: '#d1495b', of: medianOf('lookupUs') },
  { benchmark: 'registry', title: 'start of the server', colour: '#1f9aa0', of: medianOf('startSeconds') },
  {
    benchmark: 'registry',
    title: 'import of a device',
    colour: '#8b8f3a',
    of: (samples, row) => {
      const rate = samples.spread(row, 'importRate')?.median;
      return rate === undefined ? null : 1 / rate;
    },
  },
];

interface Point {
  readonly devices: number;
  /** Relative to the first. */
  readonly cost: number;
}

const [width, height] = [760, 360];
const edge = { left: 50, right: 190, top: 20, bottom: 45 };
const grey = '#82878f';
const devicesShown = [1e3, 1e4, 1e5, 1e6];
const costsShown = [0.1, 0.2, 0.5, 1, 2, 5, 10];
const titleHeight = 16;

/** Position of a value on a logarithmic axis. */
function place(value: number, [from, to]: readonly [number, number], start: number, end: number): number {
  return start + (Math.log(value / from) / Math.log(to / from)) * (end - start);
}

const x = (devices: number): string => place(devices, [1e3, 1e6], edge.left, width - edge.right).toFixed(1);
const yOf = (cost: number): number => place(cost, [0.1, 10], height - edge.bottom, edge.top);

export function drawGrowth(): string {
  const lines = costs.flatMap((cost) => {
    const points = pointsOf(cost);
    return points.length < 2 ? [] : [{ ...cost, points, titleY: yOf(points.at(-1)?.cost ?? 1) }];
  });
  lines.sort((one, other) => one.titleY - other.titleY);
  for (const [index, line] of lines.entries())
    line.titleY = Math.max(line.titleY, (lines[index - 1]?.titleY ?? -Infinity) + titleHeight);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    ...costsShown.map((cost) =>
      axisMark(`M${edge.left} ${yOf(cost).toFixed(1)}H${width - edge.right}`, cost === 1),
    ),
    ...costsShown.map((cost) => text(edge.left - 8, yOf(cost) + 4, `× ${cost}`, grey, 'end')),
    ...devicesShown.map((devices) => axisMark(`M${x(devices)} ${edge.top}V${height - edge.bottom}`, false)),
    ...devicesShown.map((devices) =>
      text(x(devices), height - edge.bottom + 18, devices.toLocaleString('en-US'), grey, 'middle'),
    ),
    text(edge.left, height - 8, 'devices asleep, or in the registry', grey, 'start'),
    ...lines.flatMap(({ title, colour, points, titleY }) => {
      const path = points.map(({ devices, cost }) => `${x(devices)} ${yOf(cost).toFixed(1)}`);
      const dots = points.map(
        ({ devices, cost }) =>
          `<circle cx="${x(devices)}" cy="${yOf(cost).toFixed(1)}" r="3" fill="${colour}"/>`,
      );
      return [
        `<path d="M${path.join('L')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        ...dots,
        text(width - edge.right + 12, titleY + 4, title, colour, 'start'),
      ];
    }),
    '</svg>\n',
  ].join('\n');
}

/** A row's name begins with its number of devices. */
function pointsOf({ benchmark, of }: Cost): Point[] {
  const samples = readResult(benchmark)?.samples;
  if (samples === undefined) return [];
  const measured = samples.rows.flatMap((row) => {
    const cost = of(samples, row);
    return cost === null ? [] : [{ devices: Number.parseInt(row.replaceAll(',', ''), 10), cost }];
  });
  const first = measured[0]?.cost ?? 1;
  return measured.map(({ devices, cost }) => ({ devices, cost: cost / first }));
}

function axisMark(path: string, isMain: boolean): string {
  return `<path d="${path}" stroke="${grey}" stroke-opacity="${isMain ? 0.9 : 0.3}"/>`;
}

function text(at: number | string, y: number, content: string, colour: string, anchor: string): string {
  return `<text x="${at}" y="${y.toFixed(1)}" fill="${colour}" text-anchor="${anchor}">${content}</text>`;
}
