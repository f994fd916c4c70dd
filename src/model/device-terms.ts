/** Rules for the terms that backends set on a device: secrets, labels and times. Source: decisions.md, Registry. */
import { isJsonObject, utf8Length } from '../lib/utf8.ts';
import {
  deviceLabelsMax,
  secretBytesMax,
  secretCharactersMin,
  unixSecondsMax,
} from './provisioning-limits.ts';
import type { Labels } from './registry.ts';

/** Compares code points, each one or two units of the string. */
export function isShortSecret(secret: string): boolean {
  if (secret.length >= 2 * secretCharactersMin) return false;
  return Array.from(secret).length < secretCharactersMin;
}

/** The fault of a secret as the end of a sentence that does not quote it; null: valid. */
export function secretFault(secret: string, allowShort: boolean): string | null {
  const bytes = utf8Length(secret);
  if (bytes < 1 || bytes > secretBytesMax) return `must be 1-${secretBytesMax} bytes of UTF-8`;
  return !allowShort && isShortSecret(secret) ? `must have ${secretCharactersMin} characters or more` : null;
}

export const momentTooFar = `must be at most ${unixSecondsMax}, the end of the year 9999: it is Unix seconds, not milliseconds`;

/** The fault of a time as the end of a sentence that does not quote it; null: valid. */
export function secondsFault(value: unknown): string | null {
  if (!Number.isSafeInteger(value) || Number(value) < 0) return 'must be whole Unix seconds or null';
  return Number(value) > unixSecondsMax ? momentTooFar : null;
}

const labelKeyForm = /^[a-z0-9_.-]+$/;
const labelKeyCharactersMax = 64;
const labelValueBytesMax = 256;

export const tooManyLabels = `must be at most ${deviceLabelsMax}`;

/** The fault of labels as the end of a sentence; null: valid. `mayRemove`: allows null, which removes a label. */
export function labelsFault(labels: unknown, mayRemove = false): string | null {
  if (!isJsonObject(labels)) return 'must be a JSON object';
  const pairs = Object.entries(labels);
  const set = mayRemove ? pairs.filter(([, value]) => value !== null) : pairs;
  if (set.length > deviceLabelsMax || pairs.length > 2 * deviceLabelsMax) return tooManyLabels;
  for (const [key, value] of pairs) {
    // Readers of msgpack and JSON treat `__proto__` as an object's prototype.
    if (key.length > labelKeyCharactersMax || !labelKeyForm.test(key) || key === '__proto__')
      return `must have keys of 1-${labelKeyCharactersMax} characters of a-z, 0-9, _ . and -`;
    if (!(mayRemove && value === null) && !isLabelValue(value))
      return `must have values of at most ${labelValueBytesMax} bytes of UTF-8`;
  }
  return null;
}

function isLabelValue(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const bytes = utf8Length(value);
  return bytes >= 0 && bytes <= labelValueBytesMax;
}

/** Labels sorted by key, so that equal labels are encoded alike; undefined: none. */
export function labelsOf(pairs: Iterable<readonly [key: string, value: string]>): Labels | undefined {
  const sorted = Array.from(pairs).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.length === 0 ? undefined : Object.fromEntries(sorted);
}

/** Applies changes to labels; null removes one. */
export function mergeLabels(
  labels: Labels = {},
  change: Readonly<Record<string, string | null>>,
): Labels | undefined {
  const merged = Object.entries({ ...labels, ...change });
  return labelsOf(merged.filter((pair): pair is [string, string] => pair[1] !== null));
}
