/** What an endpoint answers, as a value to look at before going on. Source: API doc, Response envelopes. */
import { decodeJsonObject } from '../lib/json-object.ts';
import type { FailureCode, TransportCode } from '../model/codes.ts';
import type { WireReply } from './transport.ts';

export type ApiResult<Data, Code extends FailureCode> = ApiSuccess<Data> | ApiFailure<Code>;

export interface ApiSuccess<Data> {
  readonly ok: true;
  /** Of HTTP. */
  readonly status: number;
  /** What the server's log has it under. */
  readonly requestId: string;
  /** For people. */
  readonly message: string;
  /** Fields are named as on the wire. */
  readonly data: Data;
}

export interface ApiFailure<Code extends FailureCode> {
  readonly ok: false;
  /** Of HTTP: some endpoints refuse with 200. */
  readonly status: number;
  readonly requestId: string;
  /** A later release may have codes that are not listed here. */
  readonly code: Code | TransportCode;
  /** For people, save the stable ones of the specification. */
  readonly message: string;
  /** Whole seconds after which the same may be asked again; null: the server does not say. */
  readonly retryAfterS: number | null;
  /** Of a signature mismatch: what the server computed, without a secret. Else null. */
  readonly data: SignatureComputed | null;
}

export interface SignatureComputed {
  readonly canonical_request: string;
  readonly string_to_sign: string;
}

/** Null: the reply is no envelope. Issuance says `msg` where the others say `message`. */
export function decodeResult(reply: WireReply): ApiResult<unknown, FailureCode> | null {
  const body = decodeJsonObject(reply.body);
  if (!body.ok) return null;
  const { code, message = body.value['msg'], data } = body.value;
  const requestId = body.value['request_id'] ?? reply.headers['x-tg-request-id'];
  if (typeof code !== 'number' || typeof message !== 'string' || typeof requestId !== 'string') return null;
  const { status } = reply;
  if (code === 0) return isObject(data) ? { ok: true, status, requestId, message, data } : null;
  return {
    ok: false,
    status,
    requestId,
    code: code as FailureCode,
    message,
    retryAfterS: retryAfterOf(reply),
    data: isObject(data) ? (data as SignatureComputed) : null,
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const wholeSeconds = /^\d{1,9}$/;

/** Null: there is none, or it is a date, which the API never sends. */
export function retryAfterOf({ headers }: WireReply): number | null {
  const value = headers['retry-after'];
  return value !== undefined && wholeSeconds.test(value) ? Number(value) : null;
}
