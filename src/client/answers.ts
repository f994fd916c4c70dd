/**
 * The result of a call as a value to look at before going on, and `data` of each endpoint’s success, named as on the
 * wire. Source: API doc, Response envelopes, Resources and their fields; events.md, Reading.
 */
import type { EventBody } from '../model/events.ts';
import type { WakeCause } from '../model/signal.ts';
import type { WakeupStatus } from '../model/wakeup.ts';
import { decodeJsonObject } from '../lib/json-object.ts';
import type { FailureCode, TransportCode } from '../model/codes.ts';
import type { WireReply } from './http-transport.ts';

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

/** Whole Unix seconds; null: none was observed. */
export interface ConnectionTimes {
  readonly last_login_at: number | null;
  readonly last_heartbeat_at: number | null;
  readonly last_offline_at: number | null;
}

export interface ConnectivityData {
  readonly device_id: string;
  readonly signal: ConnectionTimes & { readonly is_online: boolean };
  readonly sleep: ConnectionTimes;
}

/** Times like 2026-11-20T08:30:00.123+00:00, here and below. */
export interface WakeupData {
  readonly device_id: string;
  readonly status: 'accepted';
  readonly accepted_at: string;
}

export interface WakeupOutcomeData {
  readonly request_id: string;
  readonly device_id: string;
  readonly status: WakeupStatus;
  readonly accepted_at: string | null;
  readonly completed_at: string | null;
  readonly woke_after_ms: number | null;
  readonly already_online: boolean;
  readonly cause: WakeCause | null;
}

export interface MessageData {
  readonly device_id: string;
  readonly id: string;
  readonly acknowledged_at: string;
}

/** Order a device's events by `seq`, tell duplicates by `id`. A later release may have types that are not listed. */
export type ApiEvent = EventBody & {
  readonly id: string;
  readonly at: string;
  readonly device_id: string;
  readonly seq: number;
  readonly epoch: number | null;
};

export interface EventsData {
  readonly events: readonly ApiEvent[];
  /** Pass it back as `after`: nothing is missed and nothing repeated. */
  readonly next: string;
  /** The log no longer has what the cursor points behind. */
  readonly truncated: boolean;
}

export interface CallStatusData {
  readonly in_call: boolean;
}

/** Both go to the device: the arguments of its connect function. */
export interface CallCredentialsData {
  readonly peer_id: string;
  readonly token: string;
}
