/** How long ago something was, for people. Times and spans are milliseconds; a part of a unit is not counted. */

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The largest unit that counts at least two of it, so that little is lost; hours from the first on. */
const units = [
  { ms: dayMs, fromMs: 2 * dayMs, word: 'day', sign: 'd' },
  { ms: hourMs, fromMs: hourMs, word: 'hour', sign: 'h' },
  { ms: minuteMs, fromMs: minuteMs, word: 'minute', sign: 'min' },
  { ms: secondMs, fromMs: 0, word: 'second', sign: 's' },
] as const;

/** `3 minutes`, `1 second`, `36 hours`. */
export function spanInWords(spanMs: number): string {
  const { count, word } = measure(spanMs);
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/** Of something that was observed: what is still to come then can only be told by a clock that was set back. */
export function ageInWords(atMs: number, nowMs: number): string {
  const ageMs = nowMs - atMs;
  if (Math.abs(ageMs) < secondMs) return 'just now';
  if (ageMs > 0) return `${spanInWords(ageMs)} ago`;
  const { count, sign } = measure(-ageMs);
  return `in ${count} ${sign} (clock stepped?)`;
}

/** Of a moment that may lie ahead. */
export function momentInWords(atMs: number, nowMs: number): string {
  return atMs > nowMs ? `in ${spanInWords(atMs - nowMs)}` : ageInWords(atMs, nowMs);
}

function measure(spanMs: number): { count: number; word: string; sign: string } {
  const unit = units.find(({ fromMs }) => spanMs >= fromMs) ?? units[3];
  return { count: Math.floor(spanMs / unit.ms), word: unit.word, sign: unit.sign };
}
