/**
 * The text that all endpoints share: query strings, JSON bodies, `device_id`, `wait` and `limit` coming in, times and the
 * envelope going out. Source: decisions.md, HTTP; API doc, Device and Response envelopes.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { decodeJsonObject } from '../../lib/utf8.ts';
import type { JsonObject } from '../../model/json.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import { longPollSecondsMax } from '../../model/limits.ts';
import { findMistakenField, type StrictRequest } from './request-fields.ts';

/**
 * The decoded pairs of a query string, or what is wrong in words for the caller. Strict: a repeated key, a bad percent
 * escape and bytes that are not UTF-8 are errors, and `+` is a space. `request`: keys that are surely a mistake are errors,
 * too; left out, all unknown keys are ignored.
 */
export function parseQuery(
  raw: string,
  request?: StrictRequest,
): Result<ReadonlyMap<string, string>, string> {
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
  const mistaken = request === undefined ? null : findMistakenField(request, pairs.keys(), 'key');
  return mistaken === null ? succeed(pairs) : fail(`query: ${mistaken}`);
}

/** The front end shows bytes that are not UTF-8 as U+FFFD; nobody sends that character unescaped on purpose. */
const replacementCharacter = '\ufffd';

/** What is not as it stands: escapes, pluses, and the sign of bytes that were not UTF-8. */
const needsWork = /[%+\ufffd]/;

/** The same, and what parts pairs. */
const needsParsing = /[&%+\ufffd]/;

function decodeComponent(text: string): string | null {
  if (!needsWork.test(text)) return text;
  if (text.includes(replacementCharacter)) return null;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/**
 * The object that a request body must be, or what is wrong in words for the caller. `request`: fields that are surely a
 * mistake are errors, too; left out, all unknown fields are ignored.
 */
export function parseJsonObject(body: Uint8Array, request?: StrictRequest): Result<JsonObject, string> {
  const decoded = decodeJsonObject(body);
  if (!decoded.ok) return fail(`body: ${decoded.error}`);
  const mistaken = request === undefined ? null : findMistakenField(request, Object.keys(decoded.value));
  return mistaken === null ? decoded : fail(mistaken);
}

/** `device_id`, from a query or a body. */
export function decodeDeviceId(value: unknown): Result<DeviceId, string> {
  if (value === undefined) return fail('device_id is missing');
  if (typeof value !== 'string') return fail('device_id must be a string');
  const deviceId = parseDeviceId(value);
  return deviceId === null ? fail('device_id must be 1-255 bytes of valid UTF-8') : succeed(deviceId);
}

const deviceKey = 'device_id=';

/**
 * For a query that asks about one device and nothing else; one in the usual form is not taken apart.
 * `request`: as for `parseQuery`.
 */
export function decodeDeviceQuery(rawQuery: string, request?: StrictRequest): Result<DeviceId, string> {
  if (rawQuery.startsWith(deviceKey) && !needsParsing.test(rawQuery))
    return decodeDeviceId(rawQuery.slice(deviceKey.length));
  const query = parseQuery(rawQuery, request);
  return query.ok ? decodeDeviceId(query.value.get('device_id')) : query;
}

const secondsForm = /^[0-9]{1,2}(?:\.[0-9]{1,3})?$/;

/** `wait`, the longest that a caller lets an answer take: whole milliseconds, 0 to 30 000; absent is 0. Or what is wrong. */
export function decodeWait(value: string | undefined): Result<number, string> {
  if (value === undefined) return succeed(0);
  if (!secondsForm.test(value) || Number(value) > longPollSecondsMax)
    return fail(`wait must be 0-${longPollSecondsMax} seconds, with at most three decimals`);
  return succeed(Math.round(Number(value) * 1000));
}

export type Blank = '' | null | undefined;

/** Counts as left out, in a field that may be, of a request about calls. */
export function isBlank(given: unknown): given is Blank {
  return given === undefined || given === null || given === '';
}

const limitForm = /^[0-9]{1,4}$/;

/** `limit`, how many a page may hold: 1 to `max` (itself at most 9999); absent is `usual`. Or what is wrong. */
export function decodeLimit(value: string | undefined, usual: number, max: number): Result<number, string> {
  if (value === undefined) return succeed(usual);
  const limit = limitForm.test(value) ? Number(value) : 0;
  return limit >= 1 && limit <= max ? succeed(limit) : fail(`limit must be a whole number of 1-${max}`);
}

/** ISO 8601 with milliseconds and a numeric UTC offset: `2026-11-20T08:30:00.123+00:00`. */
export function formatTimestamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '+00:00');
}

export function timestampOrNull(wallMs: number | null): string | null {
  return wallMs === null ? null : formatTimestamp(wallMs);
}

/**
 * The envelope around every answer, by endpoint: plain `{code, message}`, wakeup's with a `request_id`, issuance's with
 * `msg` in place of `message`. `data` is left out where there is none.
 */
export type EnvelopeShape = 'plain' | 'with-request-id' | 'msg';

const closing = Buffer.from('}');

/** JSON text, and as UTF-8 where it is large. */
export type JsonText = string | Uint8Array;

/** `data` is JSON text; the envelope is bytes where that is. */
export function encodeEnvelope(
  shape: EnvelopeShape,
  code: number,
  message: string,
  requestId: string,
  data: JsonText | null,
): JsonText {
  const text = shape === 'msg' ? 'msg' : 'message';
  const head = shape === 'with-request-id' ? `{"request_id":${JSON.stringify(requestId)},` : '{';
  const told = `${head}"code":${code},"${text}":${JSON.stringify(message)}`;
  if (data === null) return `${told}}`;
  if (typeof data === 'string') return `${told},"data":${data}}`;
  return Buffer.concat([Buffer.from(`${told},"data":`), data, closing]);
}
