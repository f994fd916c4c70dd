/** UTF-8 text: measured and checked without copying, and JSON objects in it. Source: decisions.md, HTTP. */
import { fail, succeed, type Result } from './result.ts';

/** Bytes that `text` takes in UTF-8, or -1 when it holds a lone surrogate and so has no UTF-8 form. */
export function utf8Length(text: string): number {
  return text.isWellFormed() ? Buffer.byteLength(text) : -1;
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of `bytes`, or null when they are not valid UTF-8. A BOM is kept as a character. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * The one JSON object that the bytes are, or what is wrong with it in words. Invalid UTF-8, a BOM and a lone surrogate
 * written as an escape are errors like bad JSON; of a repeated key the last counts.
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

/** Whether a value of JSON is an object, and no list. */
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

/** Walks without recursion: the nesting is the sender's. */
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
