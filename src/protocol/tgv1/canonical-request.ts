/** The text whose hash is signed. Source: tgv1-signing.md, Computation. */
import { hasBody } from './scheme.ts';

/** Surrounding spaces trimmed, then one trailing slash dropped from anything longer than the slash. */
export function canonicalPath(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === ' ') start += 1;
  while (end > start && path[end - 1] === ' ') end -= 1;
  if (end - start > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(start, end);
}

/** `query` is raw, without its question mark. */
export function canonicalQuery(method: string, query: string): string {
  if (hasBody(method)) return '';
  return query.includes('+') ? query.replaceAll('+', '%20') : query;
}

export interface CanonicalParts {
  readonly method: string;
  /** Of canonicalPath. */
  readonly path: string;
  /** Raw. */
  readonly query: string;
  /** The list as text, and its names. */
  readonly signedHeaders: string;
  readonly names: readonly string[];
  /** By lower-case name, trimmed; every name on the list is there. */
  readonly headers: ReadonlyMap<string, string>;
  /** X-Tg-Content-Sha256. */
  readonly bodySha256: string;
}

export function canonicalRequest(deps: CanonicalParts): string {
  let text = `${deps.method}\n${deps.path}\n${canonicalQuery(deps.method, deps.query)}\n`;
  for (const name of deps.names) text += `${name}:${deps.headers.get(name) ?? ''}\n`;
  return `${text}${deps.signedHeaders}\n${deps.bodySha256}`;
}
