/** The overview: current figures, and plots of the last hour at most. */
import type { FiguresJson } from '../../telemetry/figure-history.ts';
import { el, setText } from '../dom.ts';
import { Figures, type Values } from '../plots/figures.ts';
import { choice, facts, poll, Trouble, type Page, type View } from '../page.ts';
import { Plot, type Line, type PlotTerms } from '../plots/plots.ts';
import { formatBytes, formatCount, formatNumber, zoneName } from '../text.ts';
import { openHead } from './overview-head.ts';

const everyMs = 5000;
const queryRoutes = new Set([
  'connectivity',
  'connectivity-batch',
  'call-status',
  'wakeup-outcome',
  'devices-list',
]);

interface Drawn {
  readonly plot: Plot;
  readonly lines: (figures: Figures) => Line[];
}

type Unit = Pick<PlotTerms, 'unit' | 'axis'>;

const perSecond: Unit = { unit: '/s', axis: 'per second' };
const seconds: Unit = { unit: 's', axis: 'seconds' };
const milliseconds: Unit = { unit: 'ms', axis: 'milliseconds' };
const percent: Unit = { unit: '%', axis: '% of one CPU' };
const megabytes: Unit = { unit: 'MB', axis: 'megabytes' };

function countOf(noun: string): Unit {
  return { unit: '', axis: noun };
}

function draw(title: string, unit: Unit, lines: (figures: Figures) => Line[]): Drawn {
  return { plot: new Plot({ title, ...unit }), lines };
}

/** The rate of each label of a counter; `noun` is what it counts, for the legend. */
function rates(figures: Figures, name: string, labels: readonly string[], noun: string): Line[] {
  return labels.map((label) => ({
    label: `${noun} ${label}`,
    values: figures.rate(figures.of(`${name}.${label}`)),
  }));
}

function scaled(values: Values, by: number): Values {
  return values.map((value) => (value === null ? null : value * by));
}

function refusals(figures: Figures, name: string): Values {
  return figures.rate(
    figures.sum(
      name,
      figures.labels(name).filter((label) => label !== 'accepted'),
    ),
  );
}

/** A route has no counter before its first request; absent counts as zero. */
function requests(figures: Figures, name: string, isWanted: (route: string) => boolean): Values {
  const counted = figures.sum(name, figures.labels(name).filter(isWanted));
  return figures.rate(counted.map((value) => value ?? 0));
}

function plots(): Drawn[] {
  return [
    draw('Sessions', countOf('sessions'), (figures) => [
      { label: 'sleep sessions', values: figures.of('sleep_sessions') },
      { label: 'signal sessions', values: figures.of('signal_sessions') },
    ]),
    draw('Logins per second', perSecond, (figures) => [
      { label: 'sleep logins accepted', values: figures.rate(figures.of('sleep_logins.accepted')) },
      { label: 'signal logins accepted', values: figures.rate(figures.of('signal_logins.accepted')) },
      { label: 'sleep logins refused', values: refusals(figures, 'sleep_logins') },
      { label: 'signal logins refused', values: refusals(figures, 'signal_logins') },
    ]),
    draw('Wakeup requests per second', perSecond, (figures) =>
      rates(figures, 'wakeups', ['accepted', 'repeated', 'refused', 'failed', 'unknown'], 'requests'),
    ),
    draw('Wakeup outcomes per second', perSecond, (figures) =>
      rates(figures, 'events.device.wakeup', ['completed', 'expired', 'failed'], 'wakeups'),
    ),
    draw('Wake time over one minute', seconds, (figures) => [
      { label: 'wake time p50', values: figures.wokeAfter(0.5) },
      { label: 'wake time p99', values: figures.wokeAfter(0.99) },
    ]),
    draw('API requests per second', perSecond, (figures) => {
      const isQuery = (route: string): boolean => queryRoutes.has(route);
      return [
        { label: 'query requests', values: requests(figures, 'requests', isQuery) },
        { label: 'other requests', values: requests(figures, 'requests', (route) => !isQuery(route)) },
        { label: 'long-poll requests', values: requests(figures, 'long_polls', () => true) },
      ];
    }),
    draw('Events per second', perSecond, (figures) => [
      { label: 'events', values: figures.rate(figures.sum('events', figures.labels('events'))) },
    ]),
    draw('Webhook delivery attempts per second', perSecond, (figures) =>
      rates(figures, 'webhook_deliveries', ['delivered', 'failed', 'parked'], 'delivery attempts'),
    ),
    draw('Live calls', countOf('calls'), (figures) =>
      figures
        .labels('calls')
        .map((label) => ({ label: `calls ${label}`, values: figures.of(`calls.${label}`) })),
    ),
    draw('Event-loop delay p99', milliseconds, (figures) => [
      { label: 'event-loop delay p99', values: scaled(figures.of('loop_delay_p99'), 1000) },
    ]),
    draw('CPU', percent, (figures) => [
      { label: 'CPU', values: scaled(figures.rate(figures.of('cpu_seconds')), 100) },
    ]),
    draw('Memory', megabytes, (figures) => [
      { label: 'memory', values: scaled(figures.of('memory_bytes'), 1e-6) },
    ]),
  ];
}

interface Tile {
  readonly name: string;
  readonly read: (figures: Figures) => string;
}

function last(values: Values): number | null {
  return values.at(-1) ?? null;
}

function valueText(value: number | null, format: (value: number) => string = formatCount): string {
  return value === null ? '–' : format(value);
}

const tiles: readonly Tile[] = [
  { name: 'sleeping devices', read: (figures) => valueText(last(figures.of('sleep_sessions'))) },
  { name: 'online devices', read: (figures) => valueText(last(figures.of('signal_sessions'))) },
  { name: 'registered devices', read: (figures) => valueText(last(figures.of('registry.device'))) },
  { name: 'live calls', read: (figures) => valueText(last(figures.sum('calls', figures.labels('calls')))) },
  {
    name: 'accepted wakeups per second',
    read: (figures) => valueText(last(figures.rate(figures.of('wakeups.accepted'))), formatNumber),
  },
  {
    name: 'wake time p99',
    read: (figures) => valueText(last(figures.wokeAfter(0.99)), (value) => `${formatNumber(value)} s`),
  },
  {
    name: 'undelivered webhook events',
    read: (figures) => valueText(last(figures.sum('webhook_backlog', ['behind', 'failed', 'parked']))),
  },
  { name: 'free disk space', read: (figures) => valueText(last(figures.of('disk_free_bytes')), formatBytes) },
];

const spans = [
  ['5 minutes', 60],
  ['15 minutes', 180],
  ['1 hour', 720],
] as const;

const shownFirst = 1;

/** Interval between announcements of the tiles by screen readers, in polls: one minute. */
const announceEvery = 12;

export function openOverview(page: Page): View {
  const figures = new Figures();
  const drawn = plots();
  const trouble = new Trouble();
  const places = tiles.map(({ name }) => ({ name, value: el('span', {}, '–') }));
  const summary = el('p', { class: 'unseen', role: 'status' });
  let kept: number = spans[shownFirst][1];
  let polls = 0;
  const show = (): void => {
    const from = Math.max(0, figures.atMs.length - kept);
    const atMs = figures.atMs.slice(from);
    for (const { plot, lines } of drawn)
      plot.show(
        atMs,
        lines(figures).map((line) => ({ ...line, values: line.values.slice(from) })),
        kept * everyMs,
      );
    for (const [at, { value }] of places.entries()) setText(value, tiles[at]?.read(figures) ?? '–');
    if (polls % announceEvery === 0)
      setText(summary, places.map(({ name, value }) => `${name}: ${value.textContent}`).join('; '));
    polls += 1;
  };
  const refresh = async (): Promise<void> => {
    figures.add(await page.client.read<FiguresJson>('/v1/figures', { after: figures.next }));
    show();
  };
  const choose = (at: number): void => {
    kept = spans[at]?.[1] ?? kept;
    show();
  };
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const recolor = (): void => drawn.forEach(({ plot }) => plot.redraw());
  dark.addEventListener('change', recolor);
  const stop = poll(everyMs, refresh, trouble.show);
  const head = openHead(page, trouble.show);
  const content = el(
    'div',
    {},
    trouble.element,
    head.content,
    summary,
    facts(
      places.map(({ name, value }) => [name, value]),
      'tiles',
    ),
    choice(
      'span',
      spans.map(([name]) => name),
      shownFirst,
      choose,
    ),
    el('div', { class: 'plots' }, ...drawn.map(({ plot }) => plot.element)),
    el(
      'p',
      { class: 'faint' },
      `Figures are recorded every 5 s and kept for an hour; times are in ${zoneName()}. Event-loop delay, CPU and memory are those of the core; 100 % is one CPU. Each node of a cluster has its own console. An idle event loop has a delay of about 10 ms, the interval between two measurements.`,
    ),
  );
  return {
    title: 'Overview',
    content,
    close: () => {
      stop();
      head.close();
      dark.removeEventListener('change', recolor);
      for (const { plot } of drawn) plot.close();
    },
  };
}
