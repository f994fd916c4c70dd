/** Draws the past of a device: one row per kind of period, time to the right. The tables below show the same as text. */
import { freshId, svg, type Attributes } from '../dom.ts';
import { formatMoment, formatSpan, plural } from '../text.ts';
import type { Past, PastWakeup, Period } from './time-machine.ts';

export interface TimeLineTerms {
  readonly fromMs: number;
  readonly toMs: number;
  readonly width: number;
}

const rowPx = 30;
const barPx = 16;
const axisPx = 24;
const labelPx = 76;

interface Row {
  readonly name: string;
  readonly marks: readonly SVGElement[];
}

export function drawTimeLine(past: Past, terms: TimeLineTerms): SVGSVGElement {
  const scale = scaleOf(terms);
  const rows: Row[] = [
    { name: 'asleep', marks: bars(past.asleep, 'asleep', scale) },
    { name: 'online', marks: bars(past.online, 'online', scale) },
    { name: 'wakeups', marks: past.wakeups.flatMap((wakeup) => wakeupMarks(wakeup, scale)) },
    { name: 'calls', marks: bars(past.calls, 'call', scale) },
    { name: 'offline', marks: bars(past.offline, 'offline', scale) },
  ];
  const height = rows.length * rowPx + axisPx;
  const title = freshId();
  const description = freshId();
  return svg(
    'svg',
    {
      role: 'img',
      width: terms.width,
      height,
      viewBox: `0 0 ${terms.width} ${height}`,
      'aria-labelledby': title,
      'aria-describedby': description,
    },
    svg('title', { id: title }, `From ${formatMoment(terms.fromMs)} to ${formatMoment(terms.toMs)}`),
    svg('desc', { id: description }, describe(past, terms)),
    unknownPart(past, scale, rows.length * rowPx),
    ...ticks(scale, rows.length * rowPx),
    ...rows.flatMap(({ name, marks }, at) => [
      svg('line', {
        class: 'rule',
        x1: labelPx,
        x2: terms.width,
        y1: at * rowPx + rowPx,
        y2: at * rowPx + rowPx,
      }),
      svg('text', { class: 'name', x: 0, y: at * rowPx + rowPx / 2 + 4 }, name),
      svg('g', { transform: `translate(0 ${at * rowPx + (rowPx - barPx) / 2})` }, ...marks),
    ]),
  );
}

interface Scale extends TimeLineTerms {
  x(ms: number): number;
  sees(fromMs: number, toMs: number): boolean;
}

function scaleOf(terms: TimeLineTerms): Scale {
  const { fromMs, toMs, width } = terms;
  return {
    ...terms,
    x: (ms) => {
      const share = (ms - fromMs) / (toMs - fromMs);
      return labelPx + Math.min(1, Math.max(0, share)) * (width - labelPx - 1);
    },
    sees: (begin, end) => end >= fromMs && begin <= toMs,
  };
}

function bars(periods: readonly Period[], kind: string, scale: Scale): SVGElement[] {
  return periods.flatMap(({ fromMs, toMs, ending }) => {
    const endMs = toMs ?? scale.toMs;
    if (!scale.sees(fromMs, endMs)) return [];
    const x = scale.x(fromMs);
    const lasted =
      toMs === null ? `for ${formatSpan(endMs - fromMs)} until now` : `for ${formatSpan(endMs - fromMs)}`;
    const how = ending === '' ? '' : kind === 'offline' ? `, because: ${ending}` : `; it ended: ${ending}`;
    return [
      bar(
        kind,
        { x, width: Math.max(2, scale.x(endMs) - x) },
        `${kind} from ${formatMoment(fromMs)} ${lasted}${how}`,
      ),
    ];
  });
}

function bar(kind: string, place: Attributes, text: string): SVGElement {
  return svg('rect', { class: `bar ${kind}`, y: 0, height: barPx, rx: 2, ...place }, svg('title', {}, text));
}

function wakeupMarks(
  { acceptedMs, settledMs, outcome, wokeAfterMs, requestId }: PastWakeup,
  scale: Scale,
): SVGElement[] {
  const endMs = settledMs ?? scale.toMs;
  if (!scale.sees(acceptedMs, endMs)) return [];
  const after = wokeAfterMs === null ? '' : ` after ${formatSpan(wokeAfterMs)}`;
  const text = `wakeup of ${formatMoment(acceptedMs)}: ${outcome}${after} (${requestId})`;
  const kind = outcome === 'woke' ? 'woke' : outcome === 'waiting' ? 'waiting' : 'missed';
  const x = scale.x(acceptedMs);
  return [bar(kind, { x, width: Math.max(4, scale.x(endMs) - x) }, text)];
}

function unknownPart({ knownFromMs }: Past, scale: Scale, height: number): SVGElement | null {
  const end = scale.x(knownFromMs ?? scale.toMs);
  if (end <= labelPx) return null;
  return svg(
    'rect',
    { class: 'unknown', x: labelPx, y: 0, width: end - labelPx, height },
    svg('title', {}, 'unknown: before the earliest event loaded'),
  );
}

const steps = [1, 5, 15, 30, 60, 180, 360, 720, 1440, 2880, 10_080, 43_200].map(
  (minutes) => minutes * 60_000,
);
const tickPxMin = 84;

function ticks(scale: Scale, y: number): SVGElement[] {
  const spanMs = scale.toMs - scale.fromMs;
  const most = Math.max(1, Math.floor((scale.width - labelPx) / tickPxMin));
  const stepMs = steps.find((step) => spanMs / step <= most) ?? spanMs / most;
  const offsetMs = new Date(scale.toMs).getTimezoneOffset() * 60_000;
  const first = Math.ceil((scale.fromMs - offsetMs) / stepMs) * stepMs + offsetMs;
  const marks: SVGElement[] = [];
  for (let ms = first; ms <= scale.toMs; ms += stepMs) {
    const x = scale.x(ms);
    if (x > scale.width - 20) break;
    marks.push(
      svg('line', { class: 'tick', x1: x, x2: x, y1: 0, y2: y + 4 }),
      svg(
        'text',
        { class: 'when', x, y: y + 18, 'text-anchor': x < labelPx + 20 ? 'start' : 'middle' },
        tickText(ms, stepMs),
      ),
    );
  }
  return marks;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

function tickText(ms: number, stepMs: number): string {
  const time = clock.format(ms);
  return stepMs >= 86_400_000 || time === '00:00' ? day.format(ms) : time;
}

function describe(past: Past, { fromMs, toMs }: TimeLineTerms): string {
  const within = (periods: readonly Period[]): Period[] =>
    periods.filter((period) => (period.toMs ?? toMs) >= fromMs && period.fromMs <= toMs);
  const total = (periods: readonly Period[]): string =>
    formatSpan(
      within(periods).reduce((sum, period) => {
        return sum + Math.min(period.toMs ?? toMs, toMs) - Math.max(period.fromMs, fromMs);
      }, 0),
    );
  const wakeups = past.wakeups.filter(({ acceptedMs }) => acceptedMs >= fromMs);
  const woke = wakeups.filter(({ outcome }) => outcome === 'woke').length;
  return [
    `asleep for ${total(past.asleep)}`,
    `online for ${total(past.online)}`,
    `offline for ${total(past.offline)} in ${plural(within(past.offline).length, 'period')}`,
    `${plural(wakeups.length, 'wakeup')}, of which ${woke} woke it`,
    plural(within(past.calls).length, 'call'),
  ].join('; ');
}
