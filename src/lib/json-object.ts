/**
 * Bytes that must be one JSON object. Invalid UTF-8, a BOM and a lone surrogate written as an escape are errors
 * like bad JSON; of a repeated key the last counts. Source: decisions.md, HTTP.
 */
import { fail, succeed, type Result } from './result.ts';
import { decodeUtf8 } from './utf8.ts';

/** The object, or what is wrong with it in words. */
export function decodeJsonObject(bytes: Uint8Array): Result<{ readonly [key: string]: unknown }, string> {
  const text = decodeUtf8(bytes);
  if (text === null) return fail('not valid UTF-8');
  if (text.startsWith('\ufeff')) return fail('starts with a byte order mark');
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return fail('must be a JSON object');
  if (surrogateEscape.test(text) && !isWellFormed(value)) return fail('a lone surrogate is not valid UTF-8');
  return succeed(value as { readonly [key: string]: unknown });
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
    if (typeof value === 'string' && loneSurrogate.test(value)) return false;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) waiting.push(key, inner);
  }
  return true;
}

const loneSurrogate = /\p{Surrogate}/u;
