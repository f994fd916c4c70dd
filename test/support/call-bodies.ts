/** Builds bodies of POST /v1/token/msgvoip field by field. */
import type { Result } from '../../src/lib/result.ts';
import {
  completeCallOrder,
  readCallBody,
  type CallCredentialsBody,
  type FindMediaProfile,
} from '../../src/protocol/rest/call-credentials.ts';
import type { MixedFormats } from '../../src/protocol/rest/call-media.ts';

/** A doorbell's body with only the required fields. Values are JSON texts, in the order of the specification's table. */
const plainBody: Readonly<Record<string, string>> = {
  msg_session_key: '"the session key"',
  msg_room_id: '"room-1"',
  msg_session_token: '"the session token"',
  msg_app_id: '"wx0123456789abcdef"',
  device_id: '"TESTDEVICE01"',
  msg_model_id: '"model_1"',
  screen_width: '320',
  screen_height: '240',
  audio_rate: '8000',
  audio_channels: '1',
};

/** `changes`: JSON texts that replace or extend the plain body; undefined omits the field. */
export function callBody(changes: Readonly<Record<string, string | undefined>> = {}): Buffer {
  const fields = Object.entries({ ...plainBody, ...changes }).filter(([, text]) => text !== undefined);
  return Buffer.from(`{${fields.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`);
}

export const callBodyFields = [
  'msg_session_key',
  'msg_room_id',
  'msg_session_token',
  'msg_app_id',
  'device_id',
  'msg_model_id',
  'msg_payload',
  'calling_timeout_sec',
  'no_video',
  'video_mt',
  'up_video_mt',
  'down_video_mt',
  'down_video_rotation',
  'screen_width',
  'screen_height',
  'video_res_mode',
  'down_audio_mt',
  'audio_rate',
  'audio_channels',
] as const;
export type CallBodyField = (typeof callBodyFields)[number];

/** Decodes a body as the front end and the core do, one after the other. */
export function decodeCallBody(
  body: Uint8Array,
  mixed: MixedFormats,
  findProfile: FindMediaProfile,
): Result<CallCredentialsBody, string> {
  const read = readCallBody(body, mixed);
  return read.ok ? completeCallOrder(read.value, mixed, findProfile) : read;
}
