/**
 * Lines of the log as people read them: time of day, level, which process, message, then the fields as `key=value`; the
 * stack of an error below. Made of the JSON line, which is redacted already; text from strangers is shown escaped.
 */
import { styleText } from 'node:util';
import { showable, showableLines } from '../../lib/showable-text.ts';

type Style = Parameters<typeof styleText>[0];
type Fields = Readonly<Record<string, unknown>>;

const levelStyles: Readonly<Record<string, Style>> = {
  trace: 'dim',
  debug: 'dim',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
};

/** Of the longest level. */
const levelWidth = 5;

export interface LogTextOptions {
  readonly hasColor: boolean;
  /** A file is read on another day than it was written. */
  readonly hasDate: boolean;
}

/** `line`: one JSON object and a line feed, as pino writes it. */
export function formatLogLine(line: string, { hasColor, hasDate }: LogTextOptions): string {
  const { level, time, process, msg, media, ...rest } = JSON.parse(line) as Fields;
  const paint = (style: Style, text: string): string =>
    hasColor ? styleText(style, text, { validateStream: false }) : text;
  // A line of the media process came over its link, with its own fields under this name.
  const fields = media === undefined ? rest : isObject(media) ? { ...rest, ...media } : { ...rest, media };
  const sources = [
    ...(typeof process === 'number' ? [`process ${process}`] : []),
    ...(media === undefined ? [] : ['media']),
  ];
  const name = String(level);
  const head = [
    paint('dim', localTime(Number(time), hasDate)),
    paint(levelStyles[name] ?? 'dim', name.toUpperCase().padEnd(levelWidth)),
    ...(sources.length === 0 ? [] : [paint('cyan', `[${sources.join(', ')}]`)]),
    showable(String(msg)),
  ];
  const { pairs, blocks } = new ShownFields(fields);
  const shown = pairs.map(([key, value]) => ` ${paint('dim', `${showable(key)}=`)}${value}`);
  // Two spaces end the message.
  const gap = shown.length === 0 ? '' : ' ';
  return `${head.join(' ')}${gap}${shown.join('')}\n${blocks.map(indented).join('')}`;
}

/** The fields of one line: those of an object under its name and a dot, and texts of several lines apart. */
class ShownFields {
  readonly pairs: [key: string, value: string][] = [];
  readonly blocks: string[] = [];

  constructor(fields: Fields) {
    this.#add('', fields);
  }

  #add(prefix: string, fields: Fields): void {
    for (const [name, value] of Object.entries(fields))
      if (isError(value)) this.#addError(prefix + name, value);
      else if (isObject(value)) this.#add(`${prefix}${name}.`, value);
      else this.pairs.push([prefix + name, shownValue(value)]);
  }

  /** Its stack has those of its causes. */
  #addError(key: string, { stack, message, ...rest }: ErrorFields): void {
    this.pairs.push([key, shownValue(message)]);
    this.#add(`${key}.`, rest);
    this.blocks.push(stack);
  }
}

interface ErrorFields extends Fields {
  readonly stack: string;
  readonly message: string;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isError(value: unknown): value is ErrorFields {
  return isObject(value) && typeof value['stack'] === 'string' && typeof value['message'] === 'string';
}

/** Quoted where its end, or that it is a text, could be mistaken. */
function shownValue(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value);
  return showable(isPlain ? value : JSON.stringify(value));
}

function indented(block: string): string {
  return showableLines(block).replaceAll(/^/gm, '    ') + '\n';
}

function localTime(ms: number, hasDate: boolean): string {
  const at = new Date(ms);
  const two = (part: number): string => String(part).padStart(2, '0');
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} `;
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  return `${hasDate ? date : ''}${time}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}
