/** Bodies of POST /v1/token/msgvoip, put together field by field. */
import type { Result } from '../../src/lib/result.ts';
import {
  completeCallOrder,
  readCallBody,
  type CallCredentialsBody,
  type FindMediaProfile,
} from '../../src/protocol/rest/call-credentials.ts';
import type { MixedFormats } from '../../src/protocol/rest/call-media.ts';

/** A doorbell's, with only what must be there; the values are JSON texts, in the order of the source's table. */
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

/** `changes`: JSON texts over those of the plain body, or beside them; undefined: the field is left out. */
export function callBody(changes: Readonly<Record<string, string | undefined>> = {}): Buffer {
  const fields = Object.entries({ ...plainBody, ...changes }).filter(([, text]) => text !== undefined);
  return Buffer.from(`{${fields.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`);
}

/** Every field of the source's table, in its order. */
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

/** As the front end and the core read a body, one after the other. */
export function decodeCallBody(
  body: Uint8Array,
  mixed: MixedFormats,
  findProfile: FindMediaProfile,
): Result<CallCredentialsBody, string> {
  const read = readCallBody(body, mixed);
  return read.ok ? completeCallOrder(read.value, mixed, findProfile) : read;
}
