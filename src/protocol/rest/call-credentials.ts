/**
 * POST /v1/token/msgvoip: body in, `data` out. A message names the field and its rule and never says what was sent:
 * some of it is secret. What a field says of itself comes before what fields ask of one another.
 * Source: API doc, Endpoint 4; calls-and-media.md, Credential issuance.
 */
import { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { CallOrder, CallSession } from '../../model/call.ts';
import { callCredentialsSchema, type CallCredentialsFields } from './call-credentials-schema.ts';
import { combineCallMedia } from './call-media.ts';
import { parseJsonObject } from './shared-fields.ts';

export type CallCredentialsBody = Omit<CallOrder, 'appId'>;

/** What a backend hands on to the device. */
export interface CallCredentials {
  readonly peerId: string;
  /** A secret. */
  readonly token: string;
}

/** Twenty times as fast as the schema itself; what it does not take is looked at by the schema, for the message. */
const fastSchema = z.compile(callCredentialsSchema, { strict: true });

/** The values with defaults, or what is wrong in words for the caller. */
export function decodeCallCredentialsBody(body: Uint8Array): Result<CallCredentialsBody, string> {
  const object = parseJsonObject(body);
  if (!object.ok) return object;
  const fields = fastSchema.safeParse(object.value);
  if (!fields.success) return fail(firstMistake(fields.error));
  const media = combineCallMedia(fields.data);
  if (!media.ok) return media;
  const { device_id: deviceId, calling_timeout_sec: callingTimeoutS } = fields.data;
  return succeed({ deviceId, room: roomOf(fields.data), media: media.value, callingTimeoutS });
}

function firstMistake({ issues: [first] }: z.ZodError): string {
  return `${String(first?.path[0])} ${String(first?.message)}`;
}

function roomOf(fields: CallCredentialsFields): CallOrder['room'] {
  return {
    msgAppId: fields.msg_app_id,
    modelId: fields.msg_model_id,
    roomId: fields.msg_room_id,
    sessionKey: fields.msg_session_key,
    sessionToken: fields.msg_session_token,
    payload: fields.msg_payload,
  };
}

/** JSON text. */
export function encodeCallCredentials({ peerId, token }: CallCredentials): string {
  return JSON.stringify({ peer_id: peerId, token });
}

/**
 * `peer_id`, by which a device finds its call: where the call is and who is called, and no secret. Devices read the app id
 * and the model id without decoding. It is never longer than `peerIdBytesMax`: the bounds of its parts leave 1392 bytes,
 * and a test holds them to that.
 */
export function encodePeerId({
  room,
  deviceId,
  sessionId,
}: Pick<CallSession, 'room' | 'deviceId' | 'sessionId'>): string {
  return (
    `whips://msgvoip?x_msg_app_id=${encode(room.msgAppId)}&x_msg_model_id=${encode(room.modelId)}` +
    `&x_msg_room_id=${encode(room.roomId)}&x_device_id=${encode(deviceId)}&x_session=${encode(sessionId)}`
  );
}

/** RFC 3986: what is not unreserved is escaped, also the five that encodeURIComponent leaves. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
