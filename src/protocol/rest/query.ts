/**
 * A query string, read strictly: a repeated key, a bad percent escape or bytes that are not UTF-8 are errors, `+`
 * is a space, keys nobody asked for are ignored. Source: decisions.md, HTTP.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';

/** Decoded pairs, or what is wrong in words for the caller. */
export function parseQuery(raw: string): Result<ReadonlyMap<string, string>, string> {
  const pairs = new Map<string, string>();
  for (const part of raw.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const key = decodeComponent(equals === -1 ? part : part.slice(0, equals));
    const value = decodeComponent(equals === -1 ? '' : part.slice(equals + 1));
    if (key === null || value === null) return fail('query: a percent escape is malformed or not UTF-8');
    if (pairs.has(key)) return fail(`query: ${JSON.stringify(key)} is given twice`);
    pairs.set(key, value);
  }
  return succeed(pairs);
}

/** The front end shows bytes that are not UTF-8 as U+FFFD; nobody sends that character unescaped on purpose. */
const replacementCharacter = '\ufffd';

/** What is not as it stands: escapes, pluses, and the sign of bytes that were not UTF-8. */
const needsWork = /[%+\ufffd]/;

function decodeComponent(text: string): string | null {
  if (!needsWork.test(text)) return text;
  if (text.includes(replacementCharacter)) return null;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
