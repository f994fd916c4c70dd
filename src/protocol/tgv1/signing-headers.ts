/**
 * Parses the headers of a signature: Authorization, the list of signed headers, and X-Tg-Date with its scope. Their relations
 * are checked in check-request.ts. Source: tgv1-signing.md, "Headers on every API request" and "What the server accepts".
 */
import { parseAccessKeyId, type AccessKeyId } from '../../model/ids.ts';
import { authorizationBytesMax, signingDatesMax } from '../../model/limits.ts';
import { algorithm, scopeTerminator, hasBody } from './signature.ts';
import { LRUCache } from 'lru-cache';

export interface Claim {
  /** As received. */
  readonly text: string;
  readonly accessKeyId: AccessKeyId;
  /** Eight digits; the right day is checked elsewhere. */
  readonly scopeDay: string;
  /** As received. */
  readonly signedHeaders: string;
  /** Its names; null: not a valid list. */
  readonly names: readonly string[] | null;
}

/** Authorization, split at its fixed words from both ends: one pass, no backtracking. */
export interface Authorization {
  readonly claim: Claim;
  /** 64 hex digits of either case; only lower case can match. */
  readonly signature: string;
}

const credentialWord = `${algorithm} Credential=`;
const afterScopeDay = `/${scopeTerminator}, SignedHeaders=`;
const signatureWord = ', Signature=';

const eightDigits = /^\d{8}$/;
const scopeDayDigits = 8;
const signatureLength = 64;

/** The scheme, the first word, even of a malformed header. */
export function authorizationScheme(header: string): string {
  const space = header.indexOf(' ');
  return space === -1 ? header : header.slice(0, space);
}

const hexDigits = new Set('0123456789abcdefABCDEF');
/** Indexed by character code: four times as fast as a regular expression. */
const isHexDigit = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(hexDigits.has(String.fromCharCode(code))),
);

function isHexFrom(text: string, start: number): boolean {
  for (let at = start; at < text.length; at++) if (isHexDigit[text.charCodeAt(at)] !== 1) return false;
  return true;
}

/** Null: malformed, or longer than 4096 characters. */
export function parseAuthorization(header: string): Authorization | null {
  const signatureAt = header.length - signatureLength;
  if (header.length > authorizationBytesMax || signatureAt < 0 || !isHexFrom(header, signatureAt))
    return null;
  const text = header.slice(0, signatureAt);
  if (lastClaim?.text !== text) lastClaim = latestClaims.get(text) ?? readClaim(text);
  return lastClaim && { claim: lastClaim, signature: header.slice(signatureAt) };
}

/** Parsed claims, cached by their exact text: a client's claim for a method is the same for a whole day. */
const latestClaims = new LRUCache<string, Claim>({ max: 256 });

let lastClaim: Claim | null = null;

function readClaim(text: string): Claim | null {
  if (!text.startsWith(credentialWord)) return null;
  const idEnd = text.indexOf('/', credentialWord.length);
  const listAt = idEnd + 1 + scopeDayDigits + afterScopeDay.length;
  const listEnd = text.length - signatureWord.length;
  if (idEnd === -1 || listAt > listEnd) return null;
  if (!text.startsWith(afterScopeDay, idEnd + 1 + scopeDayDigits)) return null;
  if (!text.endsWith(signatureWord)) return null;

  const accessKeyId = parseAccessKeyId(text.slice(credentialWord.length, idEnd));
  const scopeDay = text.slice(idEnd + 1, idEnd + 1 + scopeDayDigits);
  if (accessKeyId === null || !eightDigits.test(scopeDay)) return null;
  const signedHeaders = text.slice(listAt, listEnd);
  const claim = { text, accessKeyId, scopeDay, signedHeaders, names: parseSignedHeaders(signedHeaders) };
  latestClaims.set(text, claim);
  return claim;
}

/** The two sets of signed headers that clients use. */
export type HeaderSet = 'long' | 'short';

const longSet = ['x-tg-algorithm', 'x-tg-app-id', 'x-tg-content-sha256', 'x-tg-date'];
const shortSet = ['x-tg-app-id', 'x-tg-date'];
const contentSet = ['content-length', 'content-type'];

export function signedHeaderSet(set: HeaderSet, method: string): string[] {
  const names = set === 'long' ? longSet : shortSet;
  return hasBody(method) ? [...contentSet, ...names] : [...names];
}

/** The four lists of nearly all requests, parsed in advance. */
const listsInTheField: ReadonlyMap<string, readonly string[]> = new Map(
  [longSet, shortSet, [...contentSet, ...longSet], [...contentSet, ...shortSet]].map((names) => [
    names.join(';'),
    names,
  ]),
);

/** A header name of RFC 9110, in lower case. */
const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** The names in `text`; null unless they are lower-case, sorted and distinct. */
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

/** True: the list has every name that a request of this method must sign. */
export function signsEnough(names: readonly string[], method: string): boolean {
  if (!names.includes('x-tg-app-id') || !names.includes('x-tg-date')) return false;
  return !hasBody(method) || names.includes('content-type');
}

const scopeDays = 7;
const dayMs = 86_400_000;

export type SigningDate = Readonly<ReturnType<typeof describe>>;

/** YYYYMMDDTHHMMSSZ of a wall time, rounded down to the second. */
export function formatSigningDate(wallMs: number): string {
  return new Date(wallMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

const dateForm = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** Null unless the text is a valid calendar time: 30 February, hour 24 and second 60 are invalid. */
function parseMoment(text: string): number | null {
  if (!dateForm.test(text)) return null;
  const ms = Date.parse(text.replace(dateForm, '$1-$2-$3T$4:$5:$6Z'));
  // An invalid day rolls over into the next month, so only a valid time is formatted back to its text.
  return !Number.isNaN(ms) && formatSigningDate(ms) === text ? ms : null;
}

/**
 * `text`: as received: YYYYMMDDTHHMMSSZ. `ms`: wall milliseconds since the Unix epoch. The results are: `day`: the signing day,
 * YYYYMMDD, from which the key is derived. `scopeDay`: signing day + 7, YYYYMMDD, as in the credential scope. `toSignPrefix`: text
 * before the canonical hash in the string to sign, with its last LF.
 */
function describe(text: string, ms: number) {
  const scopeDay = formatSigningDate(ms + scopeDays * dayMs).slice(0, 8);
  const toSignPrefix = `${algorithm}\n${text}\n${scopeDay}/${scopeTerminator}\n`;
  return { text, ms, day: text.slice(0, 8), scopeDay, toSignPrefix };
}

/** Parsed dates, cached: requests of one second share theirs, and clients' clocks differ by seconds. */
const latest = new LRUCache<string, SigningDate>({ max: signingDatesMax });

let last: SigningDate | null = null;

export function parseSigningDate(text: string): SigningDate | null {
  if (last?.text === text) return last;
  last = latest.get(text) ?? readDate(text);
  return last;
}

function readDate(text: string): SigningDate | null {
  const ms = parseMoment(text);
  if (ms === null) return null;
  const date = describe(text, ms);
  latest.set(text, date);
  return date;
}

export function signingDateAt(wallMs: number): SigningDate {
  const text = formatSigningDate(wallMs);
  return describe(text, Math.floor(wallMs / 1000) * 1000);
}
