/** X-Tg-Date and what follows from it: signing day, scope, head of the string to sign. Source: tgv1-signing.md. */
import { LRUCache } from 'lru-cache';
import { signingDatesMax } from '../../model/limits.ts';
import { algorithm, scopeTerminator } from './scheme.ts';

const scopeDays = 7;
const dayMs = 86_400_000;

export interface SigningDate {
  /** As it came: YYYYMMDDTHHMMSSZ. */
  readonly text: string;
  /** Wall milliseconds since the Unix epoch. */
  readonly ms: number;
  /** The signing day, YYYYMMDD: what the key is derived from. */
  readonly day: string;
  /** Signing day + 7, YYYYMMDD: what the credential scope names. */
  readonly scopeDay: string;
  /** What stands before the canonical hash in the string to sign, with its last LF. */
  readonly toSignPrefix: string;
}

/** YYYYMMDDTHHMMSSZ of a wall time, its fraction of a second cut off. */
export function formatSigningDate(wallMs: number): string {
  return new Date(wallMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

const dateForm = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** Null unless the text is a moment of the calendar: 30 February, hour 24 and second 60 are none. */
function parseMoment(text: string): number | null {
  if (!dateForm.test(text)) return null;
  const ms = Date.parse(text.replace(dateForm, '$1-$2-$3T$4:$5:$6Z'));
  // A day that a month does not have rolls over into the next one: only a real moment is written as it was read.
  return !Number.isNaN(ms) && formatSigningDate(ms) === text ? ms : null;
}

function describe(text: string, ms: number): SigningDate {
  const scopeDay = formatSigningDate(ms + scopeDays * dayMs).slice(0, 8);
  const toSignPrefix = `${algorithm}\n${text}\n${scopeDay}/${scopeTerminator}\n`;
  return { text, ms, day: text.slice(0, 8), scopeDay, toSignPrefix };
}

/** Callers' clocks are seconds apart, and every request of one second shares its date: the latest ones are kept. */
const latest = new LRUCache<string, SigningDate>({ max: signingDatesMax });

export function parseSigningDate(text: string): SigningDate | null {
  const known = latest.get(text);
  if (known !== undefined) return known;
  const ms = parseMoment(text);
  if (ms === null) return null;
  const date = describe(text, ms);
  latest.set(text, date);
  return date;
}

export function signingDateAt(wallMs: number): SigningDate {
  const text = formatSigningDate(wallMs);
  return describe(text, Math.floor(wallMs / 1000) * 1000);
}
