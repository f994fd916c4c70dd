/** Parses and formats moments, time spans, ages, counts and ids for people. */
import { InvalidArgumentError } from 'commander';
import { showable } from '../../lib/showable-text.ts';
import { usageError } from './command-error.ts';
import { parseDeviceId, parseRequestId } from '../../model/ids.ts';
import { unixSecondsMax } from '../../model/provisioning-limits.ts';

/** Whole Unix seconds, or ISO 8601 such as 2027-01-31 or 2027-01-31T12:00:00Z. Throws InvalidArgumentError. */
export function parseMoment(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  const seconds = /^\d{1,15}$/.test(text) ? Number(text) : Math.floor(ms / 1000);
  if (Number.isNaN(seconds))
    throw new InvalidArgumentError('Expected Unix seconds or a moment like 2027-01-31T12:00:00Z.');
  if (seconds > unixSecondsMax)
    throw new InvalidArgumentError('Expected Unix seconds up to the year 9999; are these milliseconds?');
  return seconds;
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds from `90s`, `30m`, `24h`, `7d` or `90`. Throws InvalidArgumentError. */
export function parseSpan(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Expected a span like 90s, 30m, 24h or 7d.');
  return Number(count) * (unitSeconds[unit] ?? 1);
}

/** `never` is the text for null. */
export function formatMoment(unixSeconds: number | null, never: string): string {
  if (unixSeconds === null) return never;
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z');
}

export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Parser of an integer within bounds. Throws InvalidArgumentError. */
export function wholeNumberOption(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    return value;
  };
}

/** Parser of an option. Throws InvalidArgumentError with `expected` where `parse` returns null. */
export function optionOf<Value>(
  parse: (text: string) => Value | null,
  expected: string,
): (text: string) => Value {
  return (text) => {
    const value = parse(text);
    if (value === null) throw new InvalidArgumentError(expected);
    return value;
  };
}

/** Parser of an option that has this form. Throws InvalidArgumentError. */
export function optionOfForm(form: RegExp, expected: string): (text: string) => string {
  return optionOf((text) => (form.test(text) ? text : null), expected);
}

export const parseDeviceIdOption = optionOf(parseDeviceId, 'A device id is 1-255 bytes of UTF-8.');

export const parseRequestIdOption = optionOf(
  (text) => (parseRequestId(text.trim()) === null ? null : text),
  'Expected 1-128 printable ASCII characters.',
);

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Days apply from 2 on and the other units from 1, so that rounding down loses little. */
const units = [
  { ms: dayMs, fromMs: 2 * dayMs, word: 'day', sign: 'd' },
  { ms: hourMs, fromMs: hourMs, word: 'hour', sign: 'h' },
  { ms: minuteMs, fromMs: minuteMs, word: 'minute', sign: 'min' },
  { ms: secondMs, fromMs: 0, word: 'second', sign: 's' },
] as const;

/** `1 device`, `2 devices`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

/** `3 minutes`, `1 second`, `36 hours`. */
export function spanInWords(spanMs: number): string {
  const { count, word } = measure(spanMs);
  return counted(count, word);
}

/** The age of an observation. A time in the future means that a clock was stepped. */
export function ageInWords(atMs: number, nowMs: number): string {
  const ageMs = nowMs - atMs;
  if (Math.abs(ageMs) < secondMs) return 'just now';
  if (ageMs > 0) return `${spanInWords(ageMs)} ago`;
  const { count, sign } = measure(-ageMs);
  return `in ${count} ${sign} (clock stepped?)`;
}

/** The age of a moment, or the time until it. */
export function momentInWords(atMs: number, nowMs: number): string {
  return atMs > nowMs ? `in ${spanInWords(atMs - nowMs)}` : ageInWords(atMs, nowMs);
}

function measure(spanMs: number): { count: number; word: string; sign: string } {
  const unit = units.find(({ fromMs }) => spanMs >= fromMs) ?? units[3];
  return { count: Math.floor(spanMs / unit.ms), word: unit.word, sign: unit.sign };
}

/** A moment, or `never`. Throws InvalidArgumentError. */
export function parseExpiry(text: string): Expiry {
  return text === 'never' ? text : parseMoment(text);
}

/** Uses the text `never`, since commander turns null into an empty text. */
export type Expiry = number | 'never';

/** Unix seconds; null: never; undefined: not given. */
export function expiryOf(option: Expiry | undefined): number | null | undefined {
  return option === 'never' ? null : option;
}

/** Labels to set, with null to remove one; undefined: none given. Throws a usage error. */
export function changedLabels(
  labels: readonly string[] | undefined,
): Record<string, string | null> | undefined {
  if (labels === undefined) return undefined;
  return Object.fromEntries(labels.map(parseLabel).map(([key, value]) => [key, value === '' ? null : value]));
}

/** Throws a usage error. */
export function parseLabel(text: string): readonly [key: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`expected a label like site=north, not ${showable(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}
