/**
 * A request body that must be a JSON object. Invalid UTF-8, a BOM and a lone surrogate written as an escape are
 * errors like bad JSON; of a repeated key the last counts. Source: decisions.md, HTTP.
 */
import { fail, succeed, type Outcome } from '../base/outcome.ts';
import { decodeUtf8 } from '../base/utf8.ts';

export type JsonObject = { readonly [key: string]: unknown };

/** The object, or what is wrong in words for the caller. */
export function parseJsonObject(body: Uint8Array): Outcome<JsonObject, string> {
  const text = decodeUtf8(body);
  if (text === null) return fail('body: not valid UTF-8');
  if (text.startsWith('\ufeff')) return fail('body: starts with a byte order mark');
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return fail('body: must be a JSON object');
  if (surrogateEscape.test(text) && !isWellFormed(value))
    return fail('body: a lone surrogate is not valid UTF-8');
  return succeed(value as JsonObject);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** Walks without recursion: the nesting is the caller's. */
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
