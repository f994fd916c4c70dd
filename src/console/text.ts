/** Formats numbers, times and spans for the console; times are in the browser's zone, to the second. */

const count = new Intl.NumberFormat('en');
const time = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const dayAndTime = new Intl.DateTimeFormat('en-GB', {
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

export function formatCount(value: number): string {
  return count.format(value);
}

/** Three significant digits, or all digits of a whole number. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  return count.format(size >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
}

/** As MB or GB, in powers of 1000. */
export function formatBytes(bytes: number): string {
  return bytes >= 1e9 ? `${formatNumber(bytes / 1e9)} GB` : `${formatNumber(bytes / 1e6)} MB`;
}

const year = new Intl.DateTimeFormat('en-GB', { year: 'numeric' });

/** `ms`: wall clock. Omits the current year. */
export function formatMoment(ms: number): string {
  const own = year.format(ms);
  const text = dayAndTime.format(ms);
  return own === year.format(Date.now()) ? text : `${own}, ${text}`;
}

export function formatClock(ms: number): string {
  return time.format(ms);
}

const units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** At most two units: `2 d 3 h`, `4 min 5 s`, `0.8 s`; no line breaks before a unit. */
export function formatSpan(ms: number): string {
  if (ms < 1000) return `${(Math.max(0, ms) / 1000).toFixed(1)}\u00a0s`;
  const parts: string[] = [];
  let left = ms;
  for (const [size, unit] of units) {
    const whole = Math.floor(left / size);
    left -= whole * size;
    if (whole > 0) parts.push(`${whole}\u00a0${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

export function plural(value: number, one: string, several = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : several}`;
}

export function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
