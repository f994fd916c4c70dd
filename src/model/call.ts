/** A messaging-app VoIP call as the server speaks of it. Source: API doc, Endpoints 3 and 4; calls-and-media.md. */
import type { ApplicationId, DeviceId, SessionId, TokenId } from './ids.ts';
import type { SignedRequest } from './signed-request.ts';

/** In the order in which a call goes through them; states may be skipped forwards, never gone back to. */
export const callStates = ['issued', 'establishing', 'ringing', 'attempting', 'connected', 'ended'] as const;
export type CallState = (typeof callStates)[number];
export const liveCallStates = ['issued', 'establishing', 'ringing', 'attempting', 'connected'] as const;
export type LiveCallState = (typeof liveCallStates)[number];

/** What a bridge or a device may say of how far a call is. */
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

/** Issued alone is not a call. Source: calls-and-media.md, Call sessions and call status. */
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

/** What the device of a call can take and gives: everything after defaults. Compared as a whole. */
export interface CallMedia {
  readonly noVideo: boolean;
  readonly upVideo: UplinkVideoFormat;
  readonly downVideo: DownlinkVideoFormat;
  readonly rotation: VideoRotation;
  /** Null: audio-only, and none was given. */
  readonly screen: Size | null;
  readonly resolution: ResolutionMode;
  readonly downAudio: DownlinkAudioFormat;
  readonly audioRate: AudioRate;
  readonly audioChannels: AudioChannels;
}

/** How a bridge gets into the messaging app's room. The key and the token are secrets: in no log, event, URL or token. */
export interface CallRoom {
  readonly msgAppId: string;
  readonly modelId: string;
  readonly roomId: string;
  readonly sessionKey: string;
  readonly sessionToken: string;
  /** The caller's, passed through; empty: none. */
  readonly payload: string;
}

/** What a backend asks to be issued. */
export interface CallOrder {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly room: CallRoom;
  readonly media: CallMedia;
  readonly callingTimeoutS: number;
}

/** The same as a signed request asks for it. */
export interface SignedCallOrder extends CallOrder, SignedRequest {}

/** A live session, as it is kept. */
export interface CallSession extends CallOrder {
  readonly sessionId: SessionId;
  readonly state: LiveCallState;
  /** Wall milliseconds of the first issuance: who is longest in `issued`. */
  readonly createdAtMs: number;
  /** Wall milliseconds: the end of the latest token's first connect, and of the session while it is `issued`. */
  readonly expiresAtMs: number;
  /** Wall milliseconds of the first report of ringing or attempting; null: none yet. */
  readonly ringsFromMs: number | null;
  /** Whether a device and a bridge have ever been connected: the first connect of each renews the lease. */
  readonly hasSeenDevice: boolean;
  readonly hasSeenBridge: boolean;
  /** Tokens by which the device has connected, newest last: they may reconnect while the session lives. */
  readonly connectedTokens: readonly TokenId[];
}

/** Which call a backend means: by its session, or as the live one of the room that it was issued for. */
export type CallName =
  | { readonly kind: 'session'; readonly sessionId: SessionId }
  | { readonly kind: 'room'; readonly roomId: string };

/** Why a backend may end a call. */
export const orderedEndReasons = ['cancelled', 'rejected'] as const;
export type OrderedEndReason = (typeof orderedEndReasons)[number];

/** What a backend asks to be ended: a call of its own application. */
export interface CallEndOrder extends SignedRequest {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly call: CallName;
  readonly reason: OrderedEndReason;
}

/** The end of a call, whoever ended it. */
export interface CallEnd {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly reason: CallEndReason;
  /** Wall milliseconds. */
  readonly endedAtMs: number;
}

/** Why a controller that joins no call turns one down. */
export const rejectionReasons = ['rejected', 'busy'] as const;
export type RejectionReason = (typeof rejectionReasons)[number];

/** What a controller says of a call of its device. */
export interface CallRejection {
  readonly sessionId: SessionId;
  readonly reason: RejectionReason;
}

export const callSides = ['device', 'bridge'] as const;
export type CallSide = (typeof callSides)[number];

/** What a leg reports of the call. */
export type CallReport =
  | { readonly kind: 'progress'; readonly state: ReportedState }
  | { readonly kind: 'end'; readonly reason: CallEndReason };

/** By what a leg shows that it is still there: a frame, or a ping. */
export type AliveSign = 'media' | 'ping';

/** What a change of a call is told as. */
export interface CallChange {
  readonly sessionId: SessionId;
  readonly deviceId: DeviceId;
  /** The state before; `issued` also for a session that has just been made. */
  readonly from: LiveCallState;
  readonly state: CallState;
  /** Of `ended`; else null. */
  readonly reason: CallEndReason | null;
  /** Wall milliseconds. */
  readonly atMs: number;
}

/** What a bridge is to ask the phone for. */
export interface VideoRequest extends Size {
  readonly rotation: VideoRotation;
  readonly maxFps: number;
}

/** Said to a leg; the media legs turn it into a text message of the wire. */
export type LegMessage =
  /** To a bridge: will you take this call? Answered by `accept` within 2 s. */
  | { readonly kind: 'assign'; readonly sessionId: SessionId; readonly media: CallMedia }
  /** To the bridge that has the call. `request`: null for audio-only. */
  | {
      readonly kind: 'start';
      readonly sessionId: SessionId;
      readonly room: CallRoom;
      readonly request: VideoRequest | null;
      readonly media: CallMedia;
    }
  /** To both legs: the call has moved on, by somebody else's word than this leg's own. */
  | {
      readonly kind: 'state';
      readonly sessionId: SessionId;
      readonly state: CallState;
      readonly reason: CallEndReason | null;
    };

/**
 * Why a leg is closed from our side. `ended`: the call is over; `replaced`: another leg took its place; `revoked`: its
 * bridge, or its device, may not be here any more; `drain`: the server is being stopped; `moved`: its call is at another
 * media process, which the answer to its next request names.
 */
export const legCloseReasons = ['ended', 'replaced', 'revoked', 'drain', 'moved'] as const;
export type LegCloseReason = (typeof legCloseReasons)[number];

/** Why a token is not good. Each is counted. */
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

/** Why a leg was not let in. */
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
