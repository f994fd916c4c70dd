/** UTF-8 text: measured and validated without copying, and JSON objects in it. Source: decisions.md, HTTP. */
// Imported, because it is a getter as a global, which a hot path pays for.
import { Buffer } from 'node:buffer';
import { fail, succeed, type Result } from './result.ts';

/** Length of `text` in UTF-8 bytes; -1: a lone surrogate, which has no UTF-8 form. */
export function utf8Length(text: string): number {
  return text.isWellFormed() ? Buffer.byteLength(text) : -1;
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of `bytes`; null: invalid UTF-8. A BOM is kept as a character. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Decodes a JSON object, or fails with its fault in words. Invalid UTF-8, a BOM and an escaped lone surrogate are errors like
 * bad JSON; of a repeated key the last value counts.
 */
export function decodeJsonObject(bytes: Uint8Array): Result<{ readonly [key: string]: unknown }, string> {
  const text = decodeUtf8(bytes);
  if (text === null) return fail('not valid UTF-8');
  if (text.startsWith('\ufeff')) return fail('starts with a byte order mark');
  const value = parse(text);
  if (!isJsonObject(value)) return fail('must be a JSON object');
  if (surrogateEscape.test(text) && !isWellFormed(value)) return fail('a lone surrogate is not valid UTF-8');
  return succeed(value);
}

/** True for an object, false for an array. */
export function isJsonObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** Iterates instead of recursing: the sender controls the nesting. */
function isWellFormed(root: object): boolean {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string' && !value.isWellFormed()) return false;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) waiting.push(key, inner);
  }
  return true;
}

/**
 * The UTF-8 of a text with one character a byte: such texts compare by the bytes, and a part of one is found without decoding it.
 */
export function byteTextOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

export function bytesOfText(byteText: string): Buffer {
  return Buffer.from(byteText, 'latin1');
}
