/**
 * Formats log lines for people: time of day, level, process, message, fields as `key=value`; the stack of an error below. Input is the
 * JSON line, already redacted; untrusted text is escaped.
 */
import { styleText } from 'node:util';
import { showable, showableLines } from '../../lib/showable-text.ts';
import { isJsonObject } from '../../lib/utf8.ts';

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

/** Length of the longest level. */
const levelWidth = 5;

export interface LogTextOptions {
  readonly hasColor: boolean;
  /** True: shows the date, for files that are read on another day. */
  readonly hasDate: boolean;
}

/** `line`: one JSON object and a line feed, as pino writes it. */
export function formatLogLine(line: string, { hasColor, hasDate }: LogTextOptions): string {
  const { level, time, process, msg, media, ...rest } = JSON.parse(line) as Fields;
  const paint = (style: Style, text: string): string =>
    hasColor ? styleText(style, text, { validateStream: false }) : text;
  // Lines of a media process have their own fields under `media`.
  const fields =
    media === undefined ? rest : isJsonObject(media) ? { ...rest, ...media } : { ...rest, media };
  const sources = [
    ...(typeof process === 'number' ? [`process ${process}`] : []),
    ...(media === undefined ? [] : ['media']),
  ];
  const name = String(level);
  const head = [
    paint('dim', hasDate ? formatLocalTime(Number(time)) : timeOfDay(Number(time))),
    paint(levelStyles[name] ?? 'dim', name.toUpperCase().padEnd(levelWidth)),
    ...(sources.length === 0 ? [] : [paint('cyan', `[${sources.join(', ')}]`)]),
    showable(String(msg)),
  ];
  const { pairs, blocks } = new ShownFields(fields);
  const shown = pairs.map(([key, value]) => ` ${paint('dim', `${showable(key)}=`)}${value}`);
  // Two spaces separate the message from the fields.
  const gap = shown.length === 0 ? '' : ' ';
  return `${head.join(' ')}${gap}${shown.join('')}\n${blocks.map(indented).join('')}`;
}

/** Fields of one line. Nested fields have dotted names; multi-line texts are shown as blocks. */
class ShownFields {
  readonly pairs: [key: string, value: string][] = [];
  readonly blocks: string[] = [];

  constructor(fields: Fields) {
    this.#add('', fields);
  }

  #add(prefix: string, fields: Fields): void {
    for (const [name, value] of Object.entries(fields))
      if (isError(value)) this.#addError(prefix + name, value);
      else if (isJsonObject(value)) this.#add(`${prefix}${name}.`, value);
      else this.pairs.push([prefix + name, shownValue(value)]);
  }

  /** The stack includes those of its causes. */
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

function isError(value: unknown): value is ErrorFields {
  return isJsonObject(value) && typeof value['stack'] === 'string' && typeof value['message'] === 'string';
}

/** Quotes a value that could otherwise be ambiguous. */
function shownValue(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value);
  return showable(isPlain ? value : JSON.stringify(value));
}

function indented(block: string): string {
  return showableLines(block).replaceAll(/^/gm, '    ') + '\n';
}

/** `2026-11-20 09:30:00.123`, in the local time zone. */
export function formatLocalTime(ms: number): string {
  const at = new Date(ms);
  const digits = (value: number, count = 2): string => String(value).padStart(count, '0');
  const day = [digits(at.getFullYear(), 4), digits(at.getMonth() + 1), digits(at.getDate())].join('-');
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((value) => digits(value)).join(':');
  return `${day} ${time}.${digits(at.getMilliseconds(), 3)}`;
}

/** Without the date. */
export function timeOfDay(ms: number): string {
  return formatLocalTime(ms).slice('2026-11-20 '.length);
}
