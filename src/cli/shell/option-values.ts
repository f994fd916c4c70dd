/** Moments, spans of time and ids as people type and read them. */
import { InvalidArgumentError } from 'commander';
import { parseDeviceId } from '../../model/ids.ts';

/** Whole Unix seconds, or an ISO 8601 moment such as 2027-01-31 or 2027-01-31T12:00:00Z. Throws InvalidArgumentError. */
export function parseMoment(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('Expected Unix seconds or a moment like 2027-01-31T12:00:00Z.');
  return Math.floor(ms / 1000);
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds in `90s`, `30m`, `24h`, `7d` or `90`. Throws InvalidArgumentError. */
export function parseSpan(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Expected a span like 90s, 30m, 24h or 7d.');
  return Number(count) * (unitSeconds[unit] ?? 1);
}

/** `never` stands for null. */
export function formatMoment(unixSeconds: number | null, never: string): string {
  if (unixSeconds === null) return never;
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z');
}

/** A whole number within bounds, for an option. Throws InvalidArgumentError. */
export function wholeNumberOption(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    return value;
  };
}

/** Throws InvalidArgumentError. */
export function parseDeviceIdOption(text: string): string {
  if (parseDeviceId(text) === null) throw new InvalidArgumentError('A device id is 1-255 bytes of UTF-8.');
  return text;
}
