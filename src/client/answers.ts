/**
 * The result of a call as a value to look at before going on, and `data` of each endpoint’s success, named as on the
 * wire; and the one body that backends write themselves. Source: API doc, Response envelopes, Resources and their fields,
 * Endpoint 4, Body; events.md, Reading.
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
  /** Of HTTP. */
  readonly status: number;
  /** What the server's log has it under. */
  readonly requestId: string;
  /** The request of this id had the same signature: this is its answer, or its outcome, and nothing was done again. */
  readonly repeatOf?: string;
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
  readonly repeatOf?: string;
  /** A later release may have codes that are not listed here. */
  readonly code: Code | TransportCode;
  /** For people, save the stable ones of the specification. */
  readonly message: string;
  /** Whole seconds after which the same may be asked again; null: the server does not say. */
  readonly retryAfterS: number | null;
  readonly data: FailureData | null;
}

/** What a failure says beside its code. */
export interface FailureData {
  /** Of a signature mismatch, as is the next: what the server computed, without a secret. */
  readonly canonical_request?: string;
  readonly string_to_sign?: string;
  /** Of a message for which a wakeup was sent. */
  readonly wakeup?: MessageWakeupData;
}

/** Null: the reply is no envelope. Issuance says `msg` where the others say `message`. */
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

/** One device of a batch: as its own query would be answered. */
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
  /** In the order asked. */
  readonly devices: readonly ConnectivityEntry[];
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
  /** With `wake`: null when the device was online. */
  readonly wakeup?: MessageWakeupData | null;
}

/** The wakeup that a message sent; its outcome can be asked for by its id. */
export interface MessageWakeupData {
  readonly request_id: string;
  readonly status: WakeupStatus;
  readonly accepted_at: string | null;
  readonly woke_after_ms: number | null;
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

/** A device as it is to be; what is left out is as usual. */
export interface NewDevice {
  readonly device_id: string;
  readonly product_id: string;
  /** 16 characters or more; one is made, and told once, when it is left out. */
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

/** What became of one entry. */
export interface AddedDevice {
  readonly device_id: string | null;
  /** 0: it is there as the entry says. */
  readonly code: number;
  readonly message: string;
  /** With 0; false: it was there. */
  readonly created?: boolean;
  /** One that was made. */
  readonly secret?: string;
}

/** In the order of the entries. */
export interface AddedDevicesData {
  readonly devices: readonly AddedDevice[];
}

/** What is left out stays. */
export interface DeviceChange {
  readonly device_id: string;
  /** True: one is made, and told once. */
  readonly secret?: string | true | undefined;
  readonly expires_at?: number | null | undefined;
  readonly disabled?: boolean | undefined;
  /** Laid over those that are there; null takes one away. */
  readonly labels?: Readonly<Record<string, string | null>> | undefined;
}

export interface ChangedDeviceData extends RegisteredDevice {
  /** One that was made. */
  readonly secret?: string;
}

export interface RemovedDeviceData {
  readonly device_id: string;
  readonly removed: true;
}

export interface DevicePageData {
  readonly devices: readonly RegisteredDevice[];
  /** For `after`; null: there are no more. */
  readonly next: string | null;
}

export interface CallStatusData {
  readonly in_call: boolean;
}

/** How a call has ended, whoever ended it. */
export interface CallEndData {
  readonly device_id: string;
  readonly session: string;
  readonly state: 'ended';
  readonly reason: CallEndReason;
  readonly ended_at: string;
}

/** A call by its session (`x_session` of `peer_id`, `session` of its events), or as the live one of a room. */
export type CallToEnd =
  | { readonly session: string; readonly msg_room_id?: undefined }
  | { readonly msg_room_id: string; readonly session?: undefined };

/** All of it goes to the device: `peer_id` and `token` are the arguments of its connect function. */
export interface CallCredentialsData {
  readonly peer_id: string;
  readonly token: string;
  /** Where the device connects for this call: `ws://host:port` or `wss://host:port`; left out: the server knows none. */
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
  /** Seconds, above 0 and at most 3600, a fraction rounded up; 30 when left out. */
  readonly calling_timeout_sec?: number | undefined;
  /** True: audio-only. */
  readonly no_video?: boolean | undefined;
  /** Of both directions; not together with the two below. */
  readonly video_mt?: DownlinkVideoFormat | undefined;
  readonly up_video_mt?: UplinkVideoFormat | undefined;
  readonly down_video_mt?: DownlinkVideoFormat | undefined;
  readonly down_video_rotation?: VideoRotation | undefined;
  /** Pixels, 1-16384; both sides are required unless audio-only or `video_res_mode` is `auto`. */
  readonly screen_width?: number | undefined;
  readonly screen_height?: number | undefined;
  readonly video_res_mode?: ResolutionMode | undefined;
  readonly down_audio_mt?: DownlinkAudioFormat | undefined;
  /** Both may be left out where the device's product has a default, as may every field above from `calling_timeout_sec` on. */
  readonly audio_rate?: AudioRate | undefined;
  readonly audio_channels?: AudioChannels | undefined;
}
