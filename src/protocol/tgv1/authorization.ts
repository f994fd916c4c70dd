/**
 * The Authorization header, taken apart by its fixed words from both ends: one pass, no backtracking, whatever
 * is in between. What the parts mean together with other headers is check-request's.
 * Source: tgv1-signing.md, Headers on every API request.
 */
import { parseAccessKeyId } from '../../model/ids.ts';
import type { AccessKeyId } from '../../model/ids.ts';
import { authorizationBytesMax } from '../../model/limits.ts';
import { algorithm, scopeTerminator } from './scheme.ts';

export interface Authorization {
  readonly accessKeyId: AccessKeyId;
  /** Eight digits; whether they are the right day is not checked here. */
  readonly scopeDay: string;
  /** As it came; see parseSignedHeaders. */
  readonly signedHeaders: string;
  /** 64 hex digits of either case; only lower case can match. */
  readonly signature: string;
}

const credentialWord = `${algorithm} Credential=`;
const afterScopeDay = `/${scopeTerminator}, SignedHeaders=`;
const signatureWord = ', Signature=';

const eightDigits = /^\d{8}$/;
const scopeDayDigits = 8;
const signatureLength = 64;

/** The first word: the scheme, also of a header in another form. */
export function authorizationScheme(header: string): string {
  const space = header.indexOf(' ');
  return space === -1 ? header : header.slice(0, space);
}

const hexDigits = new Set('0123456789abcdefABCDEF');
/** By character code: four times as fast over a signature as an expression is. */
const isHexDigit = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(hexDigits.has(String.fromCharCode(code))),
);

function isHex(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (isHexDigit[text.charCodeAt(i)] !== 1) return false;
  return true;
}

/** Null when its form is off, or it is longer than 4096 characters. */
export function parseAuthorization(header: string): Authorization | null {
  if (header.length > authorizationBytesMax || !header.startsWith(credentialWord)) return null;
  const idEnd = header.indexOf('/', credentialWord.length);
  const signatureAt = header.length - signatureLength;
  const listEnd = signatureAt - signatureWord.length;
  const listAt = idEnd + 1 + scopeDayDigits + afterScopeDay.length;
  if (idEnd === -1 || listAt > listEnd) return null;
  if (!header.startsWith(afterScopeDay, idEnd + 1 + scopeDayDigits)) return null;
  if (!header.startsWith(signatureWord, listEnd)) return null;

  const accessKeyId = parseAccessKeyId(header.slice(credentialWord.length, idEnd));
  const scopeDay = header.slice(idEnd + 1, idEnd + 1 + scopeDayDigits);
  const signature = header.slice(signatureAt);
  if (accessKeyId === null || !eightDigits.test(scopeDay) || !isHex(signature)) return null;
  const signedHeaders = header.slice(listAt, listEnd);
  return { accessKeyId, scopeDay, signedHeaders, signature };
}
