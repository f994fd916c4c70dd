/**
 * Results of calls: success or failure, the `data` of each endpoint with its names on the wire, and the request body of call
 * credentials. Source: API doc, Response envelopes, Resources and their fields, Endpoint 4, Body; events.md, Reading.
 */
import type { EventBody } from '../model/events.ts';
import type { WakeCause } from '../model/signal.ts';
import type { WakeupStatus } from '../model/wakeup.ts';
import { decodeJsonObject } from '../lib/utf8.ts';
import type { BatchEntryCode, FailureCode, TransportCode } from '../model/codes.ts';
import type { WireReply } from './http-transport.ts';
import type {
  AudioChannels,
  AudioRate,
  CallEndReason,
  DownlinkAudioFormat,
  DownlinkVideoFormat,
  ResolutionMode,
  UplinkVideoFormat,
  VideoRotation,
} from '../model/call.ts';

export type ApiResult<Data, Code extends FailureCode> = ApiSuccess<Data> | ApiFailure<Code>;

export interface ApiSuccess<Data> {
  readonly ok: true;
  /** HTTP status. */
  readonly status: number;
  /** Identifies the request in the server's log. */
  readonly requestId: string;
  /** Id of an earlier request with the same signature: this is its response or outcome, without a second effect. */
  readonly repeatOf?: string;
  /** Human-readable. */
  readonly message: string;
  readonly data: Data;
}

export interface ApiFailure<Code extends FailureCode> {
  readonly ok: false;
  /** HTTP status; some endpoints refuse with 200. */
  readonly status: number;
  readonly requestId: string;
  readonly repeatOf?: string;
  /** Later releases may add codes. */
  readonly code: Code | TransportCode;
  /** Human-readable, except for the fixed messages of the specification. */
  readonly message: string;
  /** Whole seconds to wait before a retry; null: the server sent none. */
  readonly retryAfterS: number | null;
  readonly data: FailureData | null;
}

/** Details of a failure. */
export interface FailureData {
  /** Signature mismatch: the strings that the server computed, without a secret. */
  readonly canonical_request?: string;
  readonly string_to_sign?: string;
  /** The wakeup that the message caused. */
  readonly wakeup?: MessageWakeupData;
}

/** Null: not an envelope. Call credentials use `msg` instead of `message`. */
export function decodeResult(reply: WireReply): ApiResult<unknown, FailureCode> | null {
  const body = decodeJsonObject(reply.body);
  if (!body.ok) return null;
  const { code, message = body.value['msg'], data } = body.value;
  const requestId = body.value['request_id'] ?? reply.headers['x-tg-request-id'];
  if (typeof code !== 'number' || typeof message !== 'string' || typeof requestId !== 'string') return null;
  const { status } = reply;
  const repeatOf = reply.headers['x-tg-repeat-of'];
  const repeat = typeof repeatOf === 'string' ? { repeatOf } : {};
  if (code === 0) return isObject(data) ? { ok: true, status, requestId, ...repeat, message, data } : null;
  return {
    ok: false,
    status,
    requestId,
    ...repeat,
    code: code as FailureCode,
    message,
    retryAfterS: retryAfterOf(reply),
    data: isObject(data) ? data : null,
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const wholeSeconds = /^\d{1,9}$/;

/** Null: absent, or a date, which the API never sends. */
export function retryAfterOf({ headers }: WireReply): number | null {
  const value = headers['retry-after'];
  return value !== undefined && wholeSeconds.test(value) ? Number(value) : null;
}

/** Whole Unix seconds; null: not observed. */
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

/** One device of a batch: the answer of its own query. */
export type ConnectivityEntry =
  | {
      readonly device_id: string;
      readonly code: 0;
      readonly message: string;
      readonly data: ConnectivityData;
    }
  | {
      readonly device_id: string;
      readonly code: BatchEntryCode;
      readonly message: string;
      readonly data?: undefined;
    };

export interface ConnectivityBatchData {
  /** In the order of the request. */
  readonly devices: readonly ConnectivityEntry[];
}

/** Times are like 2026-11-20T08:30:00.123+00:00, here and below. */
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
  /** With `wake`; null: the device was online. */
  readonly wakeup?: MessageWakeupData | null;
}

/** The wakeup that a message caused; query its outcome by `request_id`. */
export interface MessageWakeupData {
  readonly request_id: string;
  readonly status: WakeupStatus;
  readonly accepted_at: string | null;
  readonly woke_after_ms: number | null;
}
/** Order a device's events by `seq`, deduplicate by `id`. Later releases may add types. */
export type ApiEvent = EventBody & {
  readonly id: string;
  readonly at: string;
  readonly device_id: string;
  readonly seq: number;
  readonly epoch: number | null;
};

export interface EventsData {
  readonly events: readonly ApiEvent[];
  /** Cursor of the next page: pass it as `after`. */
  readonly next: string;
  /** The log no longer has the events after the cursor. */
  readonly truncated: boolean;
}

/** A device to add; absent fields have their defaults. */
export interface NewDevice {
  readonly device_id: string;
  readonly product_id: string;
  /** At least 16 characters. Default: the server generates one and returns it once. */
  readonly secret?: string | undefined;
  /** Unix seconds, at most 253402300799; null: never. */
  readonly expires_at?: number | null | undefined;
  readonly disabled?: boolean | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface RegisteredDevice {
  readonly device_id: string;
  readonly product_id: string;
  readonly expires_at: number | null;
  readonly disabled: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

export interface AddedDevice {
  readonly device_id: string | null;
  /** 0: the device exists as the entry describes it. */
  readonly code: number;
  readonly message: string;
  /** With code 0; false: it existed before. */
  readonly created?: boolean;
  /** Only if the server generated it. */
  readonly secret?: string;
}

/** In the order of the entries. */
export interface AddedDevicesData {
  readonly devices: readonly AddedDevice[];
}

/** Absent fields stay unchanged. */
export interface DeviceChange {
  readonly device_id: string;
  /** True: the server generates one and returns it once. */
  readonly secret?: string | true | undefined;
  readonly expires_at?: number | null | undefined;
  readonly disabled?: boolean | undefined;
  /** Merged into the present labels; null removes one. */
  readonly labels?: Readonly<Record<string, string | null>> | undefined;
}

export interface ChangedDeviceData extends RegisteredDevice {
  /** Only if the server generated it. */
  readonly secret?: string;
}

export interface RemovedDeviceData {
  readonly device_id: string;
  readonly removed: true;
}

export interface DevicePageData {
  readonly devices: readonly RegisteredDevice[];
  /** Cursor for `after`; null: the last page. */
  readonly next: string | null;
}

export interface CallStatusData {
  readonly in_call: boolean;
}

/** The end of a call, by any party. */
export interface CallEndData {
  readonly device_id: string;
  readonly session: string;
  readonly state: 'ended';
  readonly reason: CallEndReason;
  readonly ended_at: string;
}

/** Selects a call by its session (`x_session` of `peer_id`, `session` of its events), or the live call of a room. */
export type CallToEnd =
  | { readonly session: string; readonly msg_room_id?: undefined }
  | { readonly msg_room_id: string; readonly session?: undefined };

/** Pass all of it to the device: `peer_id` and `token` are the arguments of its connect function. */
export interface CallCredentialsData {
  readonly peer_id: string;
  readonly token: string;
  /** Media address of this call: `ws://host:port` or `wss://host:port`. Absent: the server has none configured. */
  readonly media_url?: string;
}

export interface CallCredentialsBody {
  readonly msg_session_key: string;
  readonly msg_room_id: string;
  readonly msg_session_token: string;
  readonly msg_app_id: string;
  readonly device_id: string;
  readonly msg_model_id: string;
  readonly msg_payload?: string | undefined;
  /** Seconds, above 0 and at most 3600; fractions are rounded up. Default: 30. */
  readonly calling_timeout_sec?: number | undefined;
  /** True: audio-only. */
  readonly no_video?: boolean | undefined;
  /** Video format of both directions; excludes the next two fields. */
  readonly video_mt?: DownlinkVideoFormat | undefined;
  readonly up_video_mt?: UplinkVideoFormat | undefined;
  readonly down_video_mt?: DownlinkVideoFormat | undefined;
  readonly down_video_rotation?: VideoRotation | undefined;
  /** Pixels, 1-16384; both sides are required unless audio-only or `video_res_mode` is `auto`. */
  readonly screen_width?: number | undefined;
  readonly screen_height?: number | undefined;
  readonly video_res_mode?: ResolutionMode | undefined;
  readonly down_audio_mt?: DownlinkAudioFormat | undefined;
  /** Optional if the device's product has a default, like `audio_channels` and every field from `calling_timeout_sec` on. */
  readonly audio_rate?: AudioRate | undefined;
  readonly audio_channels?: AudioChannels | undefined;
}
