/** Parses the text of fields into request values. Each function throws an Error whose message is a sentence. */

/** Separated by commas or blanks. */
export function wordsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** Undefined: the field is empty, and the server's default applies. */
export function wordsOrDefault(text: string): string[] | undefined {
  return text === '' ? undefined : wordsIn(text);
}

/** Lines of `key=value`. */
export function labelsIn(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw new Error(`a label is key=value: ${line}`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

export function linesOfLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n');
}

/** Unix seconds of a date or time such as 2030-01-31 or 2030-01-31T12:00Z; null: the field is empty. */
export function secondsIn(text: string): number | null {
  if (text === '') return null;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new Error(`a time is a date such as 2030-01-31: ${text}`);
  return Math.floor(ms / 1000);
}

export function textOfSeconds(seconds: number | null): string {
  return seconds === null ? '' : new Date(seconds * 1000).toISOString();
}

export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}
