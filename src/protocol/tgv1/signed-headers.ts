/** The list of signed header names. Source: tgv1-signing.md, What the server accepts. */
import { hasBody } from './scheme.ts';

/** Which of the two sets in the field a client signs. */
export type HeaderSet = 'long' | 'short';

const longSet = ['x-tg-algorithm', 'x-tg-app-id', 'x-tg-content-sha256', 'x-tg-date'];
const shortSet = ['x-tg-app-id', 'x-tg-date'];
const contentSet = ['content-length', 'content-type'];

/** Sorted, as every list is. */
export function signedHeaderSet(set: HeaderSet, method: string): string[] {
  const names = set === 'long' ? longSet : shortSet;
  return hasBody(method) ? [...contentSet, ...names] : [...names];
}

/** The four lists that nearly every request carries, by their text, so that they are not taken apart again. */
const listsInTheField: ReadonlyMap<string, readonly string[]> = new Map(
  [longSet, shortSet, [...contentSet, ...longSet], [...contentSet, ...shortSet]].map((names) => [
    names.join(';'),
    names,
  ]),
);

/** A header name of RFC 9110, in lower case. */
const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** The names of `text`, or null unless they are lower-case, sorted and none is repeated. */
export function parseSignedHeaders(text: string): readonly string[] | null {
  const known = listsInTheField.get(text);
  if (known !== undefined) return known;
  const names = text.split(';');
  let previous = '';
  for (const name of names) {
    if (name <= previous || !headerName.test(name)) return null;
    previous = name;
  }
  return names;
}

/** Whether the list has every name that a request of this method must sign. */
export function signsEnough(names: readonly string[], method: string): boolean {
  if (!names.includes('x-tg-app-id') || !names.includes('x-tg-date')) return false;
  return !hasBody(method) || names.includes('content-type');
}
