/**
 * Plots as SVG text: panels of lines over two axes. Colours are of middle lightness and nothing is behind them, so that they are
 * read on a light page and on a dark one; marks differ in form too, for those who do not see the colours.
 */
import { placeOnAxis, ticksOf, type Axis, type Range } from './axis.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface Panel {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** A dashed line across. */
  readonly limit?: { readonly y: number; readonly name: string };
}

export interface Plot {
  readonly title: string;
  /** What it shows, for those who do not see it. */
  readonly description: string;
  readonly panels: readonly Panel[];
}

const panelsOfRow = 2;
const panelSize = { width: 420, height: 290 };
const inner = { left: 56, top: 64, right: 16, bottom: 46 };
const plotted = {
  width: panelSize.width - inner.left - inner.right,
  height: panelSize.height - inner.top - inner.bottom,
};
const grey = '#768390';
const colours = ['#2f81f7', '#d9730d', '#2da44e', '#a371f7', '#e5534b', '#1f9e9e'];
/** Room for three short names, or for two long ones. */
const legendRows = 2;
const legendRowHeight = 15;
const markRadius = 3.5;

export function drawPlot({ title, description, panels }: Plot): string {
  const rows = Math.ceil(panels.length / panelsOfRow);
  const width = panelSize.width * Math.min(panelsOfRow, panels.length);
  const height = panelSize.height * rows;
  const drawn = panels.map((panel, place) => {
    const left = (place % panelsOfRow) * panelSize.width;
    const top = Math.floor(place / panelsOfRow) * panelSize.height;
    return `<g transform="translate(${left} ${top})">\n${drawPanel(panel)}\n</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escape(title)}</title>`,
    `<desc id="description">${escape(description)}</desc>`,
    `<style>text{font:12px system-ui,sans-serif;fill:${grey}}.head{font-weight:600;font-size:13px}.grid{stroke:${grey};stroke-opacity:.25}.axis{fill:none;stroke:${grey}}.line{fill:none;stroke-width:2}.limit{stroke:${grey};stroke-dasharray:5 4}</style>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

function drawPanel({ title, x, y, series, limit }: Panel): string {
  const points = series.flatMap((one) => one.points);
  const xRange = rangeOf(
    points.map((point) => point.x),
    x,
  );
  const yRange = rangeOf([...points.map((point) => point.y), ...(limit ? [limit.y] : [])], y);
  const toX = (value: number): number => inner.left + placeOnAxis(value, x, xRange) * plotted.width;
  const toY = (value: number): number => inner.top + (1 - placeOnAxis(value, y, yRange)) * plotted.height;
  return [
    text(inner.left, 18, title, 'class="head"'),
    ...(series.length > 1
      ? series.map((one, place) =>
          drawLegend(one.name, place, Math.max(2, Math.ceil(series.length / legendRows))),
        )
      : []),
    ...ticksOf(y, yRange).flatMap((tick) => [
      `<path class="grid" d="M${inner.left} ${round(toY(tick.value))}h${plotted.width}"/>`,
      text(inner.left - 6, toY(tick.value) + 4, tick.label, 'text-anchor="end"'),
    ]),
    ...ticksOf(x, xRange).flatMap((tick) => [
      `<path class="axis" d="M${round(toX(tick.value))} ${inner.top + plotted.height}v4"/>`,
      text(toX(tick.value), inner.top + plotted.height + 18, tick.label, 'text-anchor="middle"'),
    ]),
    `<path class="axis" d="M${inner.left} ${inner.top}v${plotted.height}h${plotted.width}"/>`,
    text(inner.left + plotted.width / 2, panelSize.height - 10, x.title, 'text-anchor="middle"'),
    ...(limit
      ? [
          `<path class="limit" d="M${inner.left} ${round(toY(limit.y))}h${plotted.width}"/>`,
          text(inner.left + 6, toY(limit.y) + 14, limit.name, ''),
        ]
      : []),
    ...series.map((one, place) =>
      drawSeries(
        one.points.map((point) => ({ x: round(toX(point.x)), y: round(toY(point.y)) })),
        place,
      ),
    ),
  ].join('\n');
}

function rangeOf(values: readonly number[], { isLog }: Axis): Range {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return isLog ? { from: least, to: most } : { from: Math.min(0, least), to: most };
}

function drawSeries(points: readonly Point[], place: number): string {
  const colour = colourOf(place);
  const line = points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('');
  const marks = points.map(({ x, y }) => drawMark(x, y, place));
  return [
    ...(points.length > 1 ? [`<path class="line" stroke="${colour}" d="${line}"/>`] : []),
    ...marks,
  ].join('\n');
}

function drawLegend(name: string, place: number, columns: number): string {
  const x = inner.left + (place % columns) * (plotted.width / columns) + markRadius;
  const y = 34 + Math.floor(place / columns) * legendRowHeight;
  return `${drawMark(x, y - 4, place)}\n${text(x + 9, y, name, '')}`;
}

function drawMark(x: number, y: number, place: number): string {
  const fill = `fill="${colourOf(place)}"`;
  const r = markRadius;
  const forms = [
    `<circle cx="${x}" cy="${y}" r="${r}" ${fill}/>`,
    `<path d="M${x} ${y}m${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z" ${fill}/>`,
    `<path d="M${x} ${y}m0 ${-r - 1}l${r + 1} ${2 * r}h${-2 * r - 2}z" ${fill}/>`,
    `<path d="M${x} ${y}m0 ${-r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z" ${fill}/>`,
  ];
  return forms[place % forms.length] ?? '';
}

function colourOf(place: number): string {
  return colours[place % colours.length] ?? grey;
}

function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${round(x)}" y="${round(y)}"${attributes === '' ? '' : ` ${attributes}`}>${escape(content)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
