/** The overview: what the server does now, and plots of the last hour at most. */
import type { FiguresJson } from '../../telemetry/figure-history.ts';
import { el, setText } from '../dom.ts';
import { Figures, type Values } from '../plots/figures.ts';
import { choice, facts, poll, Trouble, type Page, type View } from '../page.ts';
import { Plot, type Line } from '../plots/plots.ts';
import { formatBytes, formatCount, formatNumber, zoneName } from '../text.ts';
import { openHead } from './overview-head.ts';

const everyMs = 5000;
/** Routes that ask and change nothing. */
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

function draw(title: string, unit: string, lines: (figures: Figures) => Line[]): Drawn {
  return { plot: new Plot({ title, unit }), lines };
}

/** The rate of each of a counter's labels. */
function rates(figures: Figures, name: string, labels: readonly string[]): Line[] {
  return labels.map((label) => ({ label, values: figures.rate(figures.of(`${name}.${label}`)) }));
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

/** A route is counted from its first request on: before it there were none. */
function requests(figures: Figures, name: string, isWanted: (route: string) => boolean): Values {
  const counted = figures.sum(name, figures.labels(name).filter(isWanted));
  return figures.rate(counted.map((value) => value ?? 0));
}

function plots(): Drawn[] {
  return [
    draw('Sessions', '', (figures) => [
      { label: 'sleeping', values: figures.of('sleep_sessions') },
      { label: 'online', values: figures.of('signal_sessions') },
    ]),
    draw('Logins', '/s', (figures) => [
      { label: 'modules accepted', values: figures.rate(figures.of('sleep_logins.accepted')) },
      { label: 'controllers accepted', values: figures.rate(figures.of('signal_logins.accepted')) },
      { label: 'modules refused', values: refusals(figures, 'sleep_logins') },
      { label: 'controllers refused', values: refusals(figures, 'signal_logins') },
    ]),
    draw('Wakeups', '/s', (figures) =>
      rates(figures, 'wakeups', ['accepted', 'repeated', 'refused', 'failed', 'unknown']),
    ),
    draw('Wakeup outcomes', '/s', (figures) =>
      (['completed', 'expired', 'failed'] as const).map((outcome) => ({
        label: { completed: 'woke', expired: 'did not wake', failed: 'module lost' }[outcome],
        values: figures.rate(figures.of(`events.device.wakeup.${outcome}`)),
      })),
    ),
    draw('Wake time of the last minute', 's', (figures) => [
      { label: 'wake time p50', values: figures.wokeAfter(0.5) },
      { label: 'wake time p99', values: figures.wokeAfter(0.99) },
    ]),
    draw('API requests', '/s', (figures) => {
      const isQuery = (route: string): boolean => queryRoutes.has(route);
      return [
        { label: 'queries', values: requests(figures, 'requests', isQuery) },
        { label: 'other requests', values: requests(figures, 'requests', (route) => !isQuery(route)) },
        { label: 'long polls', values: requests(figures, 'long_polls', () => true) },
      ];
    }),
    draw('Events', '/s', (figures) => [
      { label: 'events', values: figures.rate(figures.sum('events', figures.labels('events'))) },
    ]),
    draw('Webhook attempts', '/s', (figures) =>
      rates(figures, 'webhook_deliveries', ['delivered', 'failed', 'parked']),
    ),
    draw('Live calls', '', (figures) =>
      figures.labels('calls').map((label) => ({ label, values: figures.of(`calls.${label}`) })),
    ),
    draw('Event-loop delay p99', 'ms', (figures) => [
      { label: 'delay p99', values: scaled(figures.of('loop_delay_p99'), 1000) },
    ]),
    draw('CPU', '%', (figures) => [
      { label: 'CPU', values: scaled(figures.rate(figures.of('cpu_seconds')), 100) },
    ]),
    draw('Memory', 'MB', (figures) => [
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

function told(value: number | null, format: (value: number) => string = formatCount): string {
  return value === null ? '–' : format(value);
}

const tiles: readonly Tile[] = [
  { name: 'sleeping', read: (figures) => told(last(figures.of('sleep_sessions'))) },
  { name: 'online', read: (figures) => told(last(figures.of('signal_sessions'))) },
  { name: 'devices in the registry', read: (figures) => told(last(figures.of('registry.device'))) },
  { name: 'live calls', read: (figures) => told(last(figures.sum('calls', figures.labels('calls')))) },
  {
    name: 'wakeups per second',
    read: (figures) => told(last(figures.rate(figures.of('wakeups.accepted'))), formatNumber),
  },
  {
    name: 'wake time p99',
    read: (figures) => told(last(figures.wokeAfter(0.99)), (value) => `${formatNumber(value)} s`),
  },
  {
    name: 'events not delivered',
    read: (figures) => told(last(figures.sum('webhook_backlog', ['behind', 'failed', 'parked']))),
  },
  { name: 'free on the disk', read: (figures) => told(last(figures.of('disk_free_bytes')), formatBytes) },
];

const spans = [
  ['5 minutes', 60],
  ['15 minutes', 180],
  ['1 hour', 720],
] as const;

const shownFirst = 1;

/** A screen reader says the tiles once a minute. */
const saidEvery = 12;

export function openOverview(page: Page): View {
  const figures = new Figures();
  const drawn = plots();
  const trouble = new Trouble();
  const places = tiles.map(({ name }) => ({ name, value: el('span', {}, '–') }));
  const summary = el('p', { class: 'unseen', role: 'status' });
  let kept: number = spans[shownFirst][1];
  let looks = 0;
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
    if (looks % saidEvery === 0)
      setText(summary, places.map(({ name, value }) => `${name}: ${value.textContent}`).join('; '));
    looks += 1;
  };
  const look = async (): Promise<void> => {
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
  const stop = poll(everyMs, look, trouble.show);
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
      `Recorded every 5 s and kept for an hour; times are of ${zoneName()}. Delay, CPU and memory are those of the core; 100 % is one CPU. A cluster of nodes has a console at each node. At rest the event-loop delay is about 10 ms, the distance between two measurements.`,
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
