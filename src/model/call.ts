/** Types of a messaging-app VoIP call. Source: API doc, Endpoints 3 and 4; calls-and-media.md. */
import type { ApplicationId, DeviceId, SessionId, TokenId } from './ids.ts';
import type { SignedRequest } from './signed-request.ts';

/** In the order of a call's life; a call may skip states, but never returns to an earlier one. */
export const callStates = ['issued', 'establishing', 'ringing', 'attempting', 'connected', 'ended'] as const;
export type CallState = (typeof callStates)[number];
export const liveCallStates = ['issued', 'establishing', 'ringing', 'attempting', 'connected'] as const;
export type LiveCallState = (typeof liveCallStates)[number];

export type ReportedState = 'ringing' | 'attempting' | 'connected';

export const callEndReasons = [
  'hangup_device',
  'hangup_phone',
  'rejected',
  'busy',
  'cancelled',
  'timeout',
  'error',
  'lost',
  'replaced',
] as const;
export type CallEndReason = (typeof callEndReasons)[number];

/** A session that is only `issued` is not a call. Source: calls-and-media.md, Call sessions and call status. */
export function isInCall(state: CallState): boolean {
  return state !== 'issued' && state !== 'ended';
}

export const uplinkVideoFormats = ['h264', 'h265', 'mjpeg', 'none'] as const;
export type UplinkVideoFormat = (typeof uplinkVideoFormats)[number];
export const downlinkVideoFormats = ['h264', 'mjpeg', 'none'] as const;
export type DownlinkVideoFormat = (typeof downlinkVideoFormats)[number];
export const downlinkAudioFormats = ['alaw', 'amr', 'opus'] as const;
export type DownlinkAudioFormat = (typeof downlinkAudioFormats)[number];
export const resolutionModes = ['auto', 'fit_screen', 'fill_screen'] as const;
export type ResolutionMode = (typeof resolutionModes)[number];
export const videoRotations = [0, 1, 2] as const;
export type VideoRotation = (typeof videoRotations)[number];
export const audioRates = [8000, 16000] as const;
export type AudioRate = (typeof audioRates)[number];
export const audioChannelCounts = [1, 2] as const;
export type AudioChannels = (typeof audioChannelCounts)[number];

/** Pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Media capabilities of the call's device, after defaults. Compared as a whole. */
export interface CallMedia {
  readonly noVideo: boolean;
  readonly upVideo: UplinkVideoFormat;
  readonly downVideo: DownlinkVideoFormat;
  readonly rotation: VideoRotation;
  /** Null: audio-only without a screen. */
  readonly screen: Size | null;
  readonly resolution: ResolutionMode;
  readonly downAudio: DownlinkAudioFormat;
  readonly audioRate: AudioRate;
  readonly audioChannels: AudioChannels;
}

/** Credentials by which a bridge enters the messaging app's room. Key and token are secrets: never in a log, event, URL or token. */
export interface CallRoom {
  readonly msgAppId: string;
  readonly modelId: string;
  readonly roomId: string;
  readonly sessionKey: string;
  readonly sessionToken: string;
  /** The caller's, passed through; empty: none. */
  readonly payload: string;
}

export interface CallOrder {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly room: CallRoom;
  readonly media: CallMedia;
  readonly callingTimeoutS: number;
}

export interface SignedCallOrder extends CallOrder, SignedRequest {}

export interface CallSession extends CallOrder {
  readonly sessionId: SessionId;
  readonly state: LiveCallState;
  /** Wall milliseconds of the first issuance: orders sessions by their time in `issued`. */
  readonly createdAtMs: number;
  /** Wall milliseconds: deadline of the latest token's first connect, and of the session while `issued`. */
  readonly expiresAtMs: number;
  /** Wall milliseconds of the first report of ringing or attempting; null: none yet. */
  readonly ringsFromMs: number | null;
  /** True once a device, or a bridge, has connected: the first connect of each renews the lease. */
  readonly hasSeenDevice: boolean;
  readonly hasSeenBridge: boolean;
  /** Tokens by which the device has connected, newest last: they may reconnect while the session lives. */
  readonly connectedTokens: readonly TokenId[];
}

/** A backend's reference to a call: its session, or the room whose live call it is. */
export type CallName =
  | { readonly kind: 'session'; readonly sessionId: SessionId }
  | { readonly kind: 'room'; readonly roomId: string };

export const orderedEndReasons = ['cancelled', 'rejected'] as const;
export type OrderedEndReason = (typeof orderedEndReasons)[number];

/** A backend's order to end a call of its own application. */
export interface CallEndOrder extends SignedRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly call: CallName;
  readonly reason: OrderedEndReason;
}

export interface CallEnd {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly reason: CallEndReason;
  readonly endedAtMs: number;
}

/** Reasons why a controller may reject a call that it does not join. */
export const rejectionReasons = ['rejected', 'busy'] as const;
export type RejectionReason = (typeof rejectionReasons)[number];

export interface CallRejection {
  readonly sessionId: SessionId;
  readonly reason: RejectionReason;
}

export const callSides = ['device', 'bridge'] as const;
export type CallSide = (typeof callSides)[number];

export type CallReport =
  | { readonly kind: 'progress'; readonly state: ReportedState }
  | { readonly kind: 'end'; readonly reason: CallEndReason };

export type AliveSign = 'media' | 'ping';

export interface CallChange {
  readonly sessionId: SessionId;
  readonly deviceId: DeviceId;
  /** The state before; `issued` also for a new session. */
  readonly from: LiveCallState;
  readonly state: CallState;
  /** Set in state `ended`, else null. */
  readonly reason: CallEndReason | null;
  readonly atMs: number;
}

/** Video that a bridge requests from the phone. */
export interface VideoRequest extends Size {
  readonly rotation: VideoRotation;
  readonly maxFps: number;
}

/** Message to a leg; the media legs encode it as a text message of the wire. */
export type LegMessage =
  /** To a bridge: asks whether it accepts this call. It has 2 s to answer `accept`. */
  | { readonly kind: 'assign'; readonly sessionId: SessionId; readonly media: CallMedia }
  /** To the bridge of the call. `request`: null for audio-only. */
  | {
      readonly kind: 'start';
      readonly sessionId: SessionId;
      readonly room: CallRoom;
      readonly request: VideoRequest | null;
      readonly media: CallMedia;
    }
  /** To both legs: the call's state changed, not by this leg's own report. */
  | {
      readonly kind: 'state';
      readonly sessionId: SessionId;
      readonly state: CallState;
      readonly reason: CallEndReason | null;
    };

/**
 * Reasons why the server closes a leg. `ended`: the call is over; `replaced`: another leg took its place; `revoked`: its
 * bridge or device is no longer permitted; `drain`: the server is stopping; `moved`: its call is at another media process, which
 * the answer to its next request names.
 */
export const legCloseReasons = ['ended', 'replaced', 'revoked', 'drain', 'moved'] as const;
export type LegCloseReason = (typeof legCloseReasons)[number];

/** Reasons why a token is rejected, each with a counter. */
const tokenRefusals = [
  'malformed',
  'algorithm',
  'unknown_key',
  'signature',
  'issuer',
  'audience',
  'expired',
  'device',
  'session_ended',
] as const;
export type TokenRefusal = (typeof tokenRefusals)[number];

export const legRefusals = [
  ...tokenRefusals,
  'bridge_key',
  'unknown_session',
  'ticket',
  'viewers',
  'load',
  'engine',
  'webrtc',
  'busy',
  'unavailable',
] as const;
export type LegRefusal = (typeof legRefusals)[number];
