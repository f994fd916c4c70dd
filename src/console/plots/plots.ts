/** Plots on a canvas by uPlot, each with a legend that has the values as text, also for screen readers. */
import uPlot from 'uplot';
import { el, freshId, setText } from '../dom.ts';
import type { Values } from './figures.ts';
import { formatClock, formatNumber } from '../text.ts';

export interface Line {
  readonly label: string;
  readonly values: Values;
}

export interface PlotTerms {
  readonly title: string;
  /** Unit of the values in the legend; empty for a count. */
  readonly unit: string;
  /** Label of the vertical axis: its unit, in words. */
  readonly axis: string;
}

const heightPx = 150;
/** Resolves a style sheet colour to one that a canvas accepts, for the current colour scheme. */
function colorOf(name: string): string {
  const probe = el('span', { hidden: true });
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const colorCount = 6;

function colorNameOf(line: number): string {
  return `--line-${(line % colorCount) + 1}`;
}

export class Plot {
  readonly element: HTMLElement;
  readonly #terms: PlotTerms;
  readonly #stage = el('div', { class: 'stage', role: 'img' });
  readonly #legend = el('dl', { class: 'legend' });
  readonly #moment = el('span', { class: 'faint moment' });
  readonly #observer: ResizeObserver;
  #chart: uPlot | null = null;
  #labels = '';
  #spanMs = 0;
  #atMs: readonly number[] = [];
  #lines: readonly Line[] = [];

  constructor(terms: PlotTerms) {
    this.#terms = terms;
    const id = freshId();
    const head = el('figcaption', {}, el('h2', { id }, terms.title), this.#moment);
    this.element = el('figure', { class: 'plot', 'aria-labelledby': id }, head, this.#stage, this.#legend);
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.#stage);
  }

  /** `spanMs`: length of the time axis. */
  show(atMs: readonly number[], lines: readonly Line[], spanMs: number): void {
    this.#spanMs = spanMs;
    this.#atMs = atMs;
    this.#lines = lines;
    const labels = lines.map(({ label }) => label).join('\n');
    const data: uPlot.AlignedData = [atMs.map((ms) => ms / 1000), ...lines.map(({ values }) => [...values])];
    if (this.#chart === null || labels !== this.#labels) this.#draw(data);
    else this.#chart.setData(data);
    this.#labels = labels;
    this.#describe();
  }

  /** Redraws after a change of the colour scheme. */
  redraw(): void {
    this.#labels = '\0';
    this.show(this.#atMs, this.#lines, this.#spanMs);
  }

  close(): void {
    this.#observer.disconnect();
    this.#chart?.destroy();
    this.#chart = null;
  }

  #draw(data: uPlot.AlignedData): void {
    this.#chart?.destroy();
    const axis = {
      stroke: colorOf('--faint'),
      font: `11px system-ui, sans-serif`,
      grid: { stroke: colorOf('--grid'), width: 1 },
      ticks: { show: false },
    };
    const options: uPlot.Options = {
      width: this.#stage.clientWidth || 300,
      height: heightPx,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: 'figures' },
        drag: { x: false, y: false },
        points: { size: 6 },
      },
      scales: {
        x: { range: (_, __, last) => [last - this.#spanMs / 1000, last] },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.1 : 1] },
      },
      axes: [
        {
          ...axis,
          size: 24,
          space: 70,
          values: (_, splits) => splits.map((at) => formatClock(at * 1000).slice(0, 5)),
        },
        {
          ...axis,
          size: 42,
          label: this.#terms.axis,
          labelSize: 16,
          labelGap: 0,
          labelFont: axis.font,
          values: (_, splits) => splits.map(formatNumber),
        },
      ],
      series: [
        {},
        ...this.#lines.map(({ label }, at) => ({
          label,
          stroke: colorOf(colorNameOf(at)),
          width: 1.5,
          points: { show: false },
        })),
      ],
      hooks: { setCursor: [() => this.#describe()] },
    };
    this.#chart = new uPlot(options, data, this.#stage);
  }

  #resize(): void {
    const width = this.#stage.clientWidth;
    if (this.#chart !== null && width > 0 && width !== this.#chart.width)
      this.#chart.setSize({ width, height: heightPx });
  }

  /** Shows the values under the cursor, or else the latest. */
  #describe(): void {
    const pointed = this.#chart?.cursor.idx ?? null;
    const at = pointed ?? this.#atMs.length - 1;
    const values = this.#lines.map(({ values }) => values[at] ?? null);
    if (
      this.#legend.childElementCount !== this.#lines.length ||
      this.#legend.dataset['labels'] !== this.#labels
    )
      this.#layLegend();
    const places = this.#legend.querySelectorAll('dd');
    for (const [line, value] of values.entries()) {
      const place = places[line];
      if (place !== undefined) setText(place, this.#textOf(value));
    }
    setText(this.#moment, pointed === null ? '' : formatClock(this.#atMs[at] ?? 0));
    if (pointed !== null) return;
    const texts = this.#lines.map(({ label }, line) => `${label}: ${this.#textOf(values[line] ?? null)}`);
    this.#stage.setAttribute('aria-label', `${this.#terms.title}, now: ${texts.join(', ')}`);
  }

  #layLegend(): void {
    this.#legend.dataset['labels'] = this.#labels;
    const keys = this.#lines.map(({ label }, at) => {
      const key = el('div', { class: 'key' }, el('dt', {}, label), el('dd', {}, '–'));
      key.style.setProperty('--key', `var(${colorNameOf(at)})`);
      return key;
    });
    this.#legend.replaceChildren(...keys);
  }

  #textOf(value: number | null): string {
    if (value === null) return '–';
    return `${formatNumber(value)} ${this.#terms.unit}`.trimEnd();
  }
}
