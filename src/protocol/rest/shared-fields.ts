/**
 * Text shared by all endpoints: query strings, JSON bodies, `device_id`, `wait` and `limit` coming in, times and the envelope
 * going out. Decoders return the values, or the fault in words for the caller; encoders return JSON text. Source: decisions.md,
 * HTTP; API doc, Device and Response envelopes.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { decodeJsonObject } from '../../lib/utf8.ts';
import type { JsonObject } from '../../model/json.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import { longPollSecondsMax } from '../../model/limits.ts';
import { findMistakenField, type StrictRequest } from './request-fields.ts';

/**
 * The decoded pairs of a query string, or the fault in words for the caller. A repeated key, a bad percent escape and invalid
 * UTF-8 are errors, and `+` is a space. `request`: clearly mistaken keys are errors too. Default: unknown keys are ignored.
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

/** uWebSockets.js replaces invalid UTF-8 with U+FFFD, a character that callers do not send unescaped on purpose. */
const replacementCharacter = '\ufffd';

/** Text that needs decoding: escapes, pluses, and the mark of invalid UTF-8. */
const needsWork = /[%+\ufffd]/;

/** Text that needs decoding or has several pairs. */
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
 * The object in a request body, or the fault in words for the caller. `request`: clearly mistaken fields are errors too.
 * Default: unknown fields are ignored.
 */
export function parseJsonObject(body: Uint8Array, request?: StrictRequest): Result<JsonObject, string> {
  const decoded = decodeJsonObject(body);
  if (!decoded.ok) return fail(`body: ${decoded.error}`);
  const mistaken = request === undefined ? null : findMistakenField(request, Object.keys(decoded.value));
  return mistaken === null ? decoded : fail(mistaken);
}

export function decodeDeviceId(value: unknown): Result<DeviceId, string> {
  if (value === undefined) return fail('device_id is missing');
  if (typeof value !== 'string') return fail('device_id must be a string');
  const deviceId = parseDeviceId(value);
  return deviceId === null ? fail('device_id must be 1-255 bytes of valid UTF-8') : succeed(deviceId);
}

const deviceKey = 'device_id=';

/** Decodes a query with only a device id; one in the usual form is not parsed. `request`: as for `parseQuery`. */
export function decodeDeviceQuery(rawQuery: string, request?: StrictRequest): Result<DeviceId, string> {
  if (rawQuery.startsWith(deviceKey) && !needsParsing.test(rawQuery))
    return decodeDeviceId(rawQuery.slice(deviceKey.length));
  const query = parseQuery(rawQuery, request);
  return query.ok ? decodeDeviceId(query.value.get('device_id')) : query;
}

const secondsForm = /^[0-9]{1,2}(?:\.[0-9]{1,3})?$/;

/** `wait`, the maximum delay of an answer: whole milliseconds, 0 to 30 000; absent: 0. Or the fault. */
export function decodeWait(value: string | undefined): Result<number, string> {
  if (value === undefined) return succeed(0);
  if (!secondsForm.test(value) || Number(value) > longPollSecondsMax)
    return fail(`wait must be 0-${longPollSecondsMax} seconds, with at most three decimals`);
  return succeed(Math.round(Number(value) * 1000));
}

export type Blank = '' | null | undefined;

/** True: counts as omitted in an optional field of a request about calls. */
export function isBlank(given: unknown): given is Blank {
  return given === undefined || given === null || given === '';
}

const limitForm = /^[0-9]{1,4}$/;

/** `limit`, the maximum number of entries per page: 1 to `max` (at most 9999); absent: `usual`. Or the fault. */
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
 * The envelope of an answer, by endpoint: plain `{code, message}`, wakeup's with a `request_id`, issuance's with `msg` instead
 * of `message`. `data` is optional.
 */
export type EnvelopeShape = 'plain' | 'with-request-id' | 'msg';

const closing = Buffer.from('}');

/** JSON text, in UTF-8 if large. */
export type JsonText = string | Uint8Array;

/** `data`: JSON text; if it is bytes, so is the envelope. */
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
