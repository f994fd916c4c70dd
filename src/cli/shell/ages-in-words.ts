/** Ages and spans in words. Times and spans are in milliseconds; a fraction of a unit is dropped. */

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Days are used from the second one on, the others from the first: rounding down then loses little. */
const units = [
  { ms: dayMs, fromMs: 2 * dayMs, word: 'day', sign: 'd' },
  { ms: hourMs, fromMs: hourMs, word: 'hour', sign: 'h' },
  { ms: minuteMs, fromMs: minuteMs, word: 'minute', sign: 'min' },
  { ms: secondMs, fromMs: 0, word: 'second', sign: 's' },
] as const;

/** `3 minutes`, `1 second`, `36 hours`. */
function spanInWords(spanMs: number): string {
  const { count, word } = measure(spanMs);
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/** The age of something observed. A time in the future means that the clock was set back. */
export function ageInWords(atMs: number, nowMs: number): string {
  const ageMs = nowMs - atMs;
  if (Math.abs(ageMs) < secondMs) return 'just now';
  if (ageMs > 0) return `${spanInWords(ageMs)} ago`;
  const { count, sign } = measure(-ageMs);
  return `in ${count} ${sign} (clock stepped?)`;
}

/** The age of a moment, or how far ahead it lies. */
export function momentInWords(atMs: number, nowMs: number): string {
  return atMs > nowMs ? `in ${spanInWords(atMs - nowMs)}` : ageInWords(atMs, nowMs);
}

function measure(spanMs: number): { count: number; word: string; sign: string } {
  const unit = units.find(({ fromMs }) => spanMs >= fromMs) ?? units[3];
  return { count: Math.floor(spanMs / unit.ms), word: unit.word, sign: unit.sign };
}
