/**
 * Text messages between the server and its legs: JSON to a leg, fields in the documented order; texts of bridges and devices,
 * decoded strictly for known fields and ignoring unknown ones; and the close codes with their reasons. Source:
 * calls-and-media.md, Legs.
 */
import {
  type CallMedia,
  type CallRoom,
  type LegMessage,
  type VideoRequest,
  callEndReasons,
  type CallEndReason,
  type CallReport,
  type ReportedState,
  type LegCloseReason,
} from '../../model/call.ts';
import { decodeJsonObject, isJsonObject } from '../../lib/utf8.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { JsonObject } from '../../model/json.ts';
import type { DropCause } from '../../model/media/picture.ts';
import {
  audioFrameFormats,
  soundChoices,
  type SoundShape,
  type UplinkWish,
} from '../../model/media/sound.ts';

export function encodeLegMessage(message: LegMessage): string {
  switch (message.kind) {
    case 'assign':
      return JSON.stringify({ type: 'assign', session: message.sessionId });
    case 'start':
      return encodeStart(message.room, message.request, message.media);
    case 'state':
      return JSON.stringify({
        type: 'state',
        session: message.sessionId,
        state: message.state,
        reason: message.reason,
      });
  }
}

/** `message`: the fault of the leg's message, and the expected form. */
export function encodeLegError(message: string): string {
  return JSON.stringify({ type: 'error', message });
}

/** To the sender of video: decoding cannot continue without a key frame. */
export function encodeKeyFrameWanted(): string {
  return '{"type":"key_frame_wanted"}';
}

/** To a bridge: the device's network carries only this many forwarded frames a second. */
export function encodeMaxFpsWanted(maxFps: number): string {
  return JSON.stringify({ type: 'max_fps_wanted', max_fps: maxFps });
}

/** To a bridge: its `uplink` request cannot be met, with the reason. */
export function encodeUplinkError(what: 'audio' | 'video', why: 'load' | 'unsupported'): string {
  return encodeLegError(
    why === 'load'
      ? `no worker has time to convert the ${what} of the uplink: other formats are dropped; retried each second`
      : `the ${what} of the uplink cannot be converted here: other formats are dropped; request another format, or null`,
  );
}

const dropSentences: Readonly<Record<DropCause, string>> = {
  undecodable: 'a frame cannot be decoded: it is corrupt, or in another format than its header says',
  cut: 'a JPEG is cut in its scan',
  too_costly:
    'a frame exceeds the limits of decoding work: send fewer slices, parameter sets, scans or tables',
  too_large: 'a frame is larger than this server decodes, or its picture is larger than this server encodes',
  too_small: 'a frame is too narrow for the screen: a side of its picture would be 0',
  rebuild_failed: 'no scaler or encoder could be opened for a frame',
  engine: 'the worker that had a frame has ended',
  overdue: 'a frame took too long to decode: frames are not decoded for some seconds',
  load: 'no worker has time to convert frames',
  unsupported: 'the receiver does not support this format, and frames cannot be converted here',
};

export function encodeFramesDropped(cause: DropCause): string {
  return JSON.stringify({ type: 'frames_dropped', cause, message: dropSentences[cause] });
}

function encodeStart(room: CallRoom, request: VideoRequest | null, media: CallMedia): string {
  return JSON.stringify({
    type: 'start',
    request: request === null ? null : encodeRequest(request),
    audio: { format: media.downAudio, rate: media.audioRate, channels: media.audioChannels },
    payload: room.payload,
    room: {
      app_id: room.msgAppId,
      model_id: room.modelId,
      room_id: room.roomId,
      session_key: room.sessionKey,
      session_token: room.sessionToken,
    },
  });
}

function encodeRequest({ width, height, rotation, maxFps }: VideoRequest): object {
  return { width, height, rotation, max_fps: maxFps };
}

export type BridgeText =
  | { readonly kind: 'answer'; readonly accepted: boolean }
  /** `about`: the named session; null: none, so the leg's own. */
  | { readonly kind: 'report'; readonly report: CallReport; readonly about: string | null }
  /** Formats requested from the device from now on. */
  | { readonly kind: 'uplink'; readonly wish: UplinkWish }
  | KeyFrameText;

/** The receiver's decoding cannot continue without a key frame. */
interface KeyFrameText {
  readonly kind: 'key_frame_wanted';
}

const keyFrameText: KeyFrameText = { kind: 'key_frame_wanted' };
export type DeviceText = CallReport | KeyFrameText;

const accepts: BridgeText = { kind: 'answer', accepted: true };
const refuses: BridgeText = { kind: 'answer', accepted: false };
const reportedStates: readonly ReportedState[] = ['ringing', 'attempting', 'connected'];

function decodeTyped(text: Uint8Array): Result<JsonObject, string> {
  const decoded = decodeJsonObject(text);
  return decoded.ok ? decoded : fail(`a text message is a JSON object with a type: ${decoded.error}`);
}

/** Does not retain `text`. A failure states the fault and the expected form. */
export function parseBridgeText(text: Uint8Array): Result<BridgeText, string> {
  const decoded = decodeTyped(text);
  if (!decoded.ok) return decoded;
  switch (decoded.value['type']) {
    case 'accept':
      return succeed(accepts);
    case 'refuse':
      return succeed(refuses);
    case 'state':
      return parseState(decoded.value);
    case 'uplink':
      return parseUplink(decoded.value);
    case 'key_frame_wanted':
      return succeed(keyFrameText);
    default:
      return fail('the type of a bridge is accept, refuse, state, uplink or key_frame_wanted');
  }
}

function parseUplink({ audio = null, video = null }: JsonObject): Result<BridgeText, string> {
  if (video !== null && video !== 'h264') return fail('the video of an uplink is h264, or null: unchanged');
  if (audio === null) return succeed({ kind: 'uplink', wish: { audio, video } });
  const shape = soundShapeOf(audio);
  return shape === null ? fail(badSound) : succeed({ kind: 'uplink', wish: { audio: shape, video } });
}

const badSound =
  'the audio of an uplink has a format, a rate and channels, or is null: unchanged. Formats are ' +
  `${audioFrameFormats.map((format) => `${format} (${soundChoices[format].rates.join(', ')})`).join(', ')}, ` +
  'channels 1 or 2; amr has 1';

function soundShapeOf(given: unknown): SoundShape | null {
  if (!isJsonObject(given)) return null;
  const { format: named, rate, channels } = given;
  const format = audioFrameFormats.find((known) => known === named);
  if (format === undefined || typeof rate !== 'number' || typeof channels !== 'number') return null;
  const { rates, channelsMax } = soundChoices[format];
  const isOffered =
    rates.includes(rate) && Number.isInteger(channels) && channels >= 1 && channels <= channelsMax;
  return isOffered ? { format, rate, channels } : null;
}

function parseState({ state: given, reason, session }: JsonObject): Result<BridgeText, string> {
  const about = sessionNamed(session);
  if (given === 'ended')
    return succeed({ kind: 'report', report: { kind: 'end', reason: endReason(reason) }, about });
  const state = reportedStates.find((known) => known === given);
  if (state === undefined) return fail('the state is ringing, attempting, connected or ended');
  return succeed({ kind: 'report', report: { kind: 'progress', state }, about });
}

/** Values other than text become '', which matches no session. */
function sessionNamed(given: unknown): string | null {
  if (given === undefined || given === null) return null;
  return typeof given === 'string' ? given : '';
}

/** Unknown reasons still end the call. */
function endReason(given: unknown): CallEndReason {
  if (given === undefined || given === null) return 'hangup_phone';
  return callEndReasons.find((known) => known === given) ?? 'error';
}

const accepted: CallReport = { kind: 'progress', state: 'attempting' };
const rejected: CallReport = { kind: 'end', reason: 'rejected' };

/**
 * By the device's number: 0 unknown, 1 manual, 2 system phone, 3 other app, 4 device, 5 busy, 6 timeout, 7 reject, 8 exception.
 * All others are a hang-up by the device.
 */
const hangupReasons: Readonly<Partial<Record<number, CallEndReason>>> = {
  5: 'busy',
  6: 'timeout',
  7: 'rejected',
  8: 'error',
};

/** Does not retain `text`. A failure states the fault and the expected form. */
export function parseDeviceText(text: Uint8Array): Result<DeviceText, string> {
  const decoded = decodeTyped(text);
  if (!decoded.ok) return decoded;
  const { type, reason } = decoded.value;
  switch (type) {
    case 'accept':
      return succeed(accepted);
    case 'reject':
      return succeed(rejected);
    case 'hangup':
      return succeed(hungUp(reason));
    case 'key_frame_wanted':
      return succeed(keyFrameText);
    default:
      return fail('the type of a device is accept, reject, hangup or key_frame_wanted');
  }
}

/** Unknown numbers still hang up. */
function hungUp(given: unknown): CallReport {
  const known = typeof given === 'number' ? hangupReasons[given] : undefined;
  return { kind: 'end', reason: known ?? 'hangup_device' };
}

export interface LegClose {
  readonly code: number;
  readonly reason: string;
}

export const legCloses: Readonly<Record<LegCloseReason, LegClose>> = {
  ended: { code: 1000, reason: 'ended' },
  revoked: { code: 4401, reason: 'revoked' },
  replaced: { code: 4409, reason: 'replaced' },
  drain: { code: 4503, reason: 'draining' },
  moved: { code: 4503, reason: 'moved' },
};

export const faultCloses = {
  tooLarge: { code: 1009, reason: 'too_large' },
  malformed: { code: 4400, reason: 'malformed' },
  tooMuch: { code: 4429, reason: 'too_much' },
} as const satisfies Record<string, LegClose>;

/** An idle bridge that yields its place to another leg. */
export const idleClose: LegClose = { code: 4503, reason: 'busy' };

/** Closed by the legs themselves: no worker can carry the frames. */
export const fullClose: LegClose = { code: 4503, reason: 'media_full' };
