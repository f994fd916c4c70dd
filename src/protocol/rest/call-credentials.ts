/**
 * POST /v1/token/msgvoip: body in, `data` out. A message names the field and its rule and never says what was sent:
 * some of it is secret. What a field says of itself comes before what fields ask of one another (call-media.ts).
 * Source: API doc, Endpoint 4; calls-and-media.md, Credential issuance.
 */
import { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { CallOrder, CallSession } from '../../model/call.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { MediaProfile } from '../../model/product-defaults.ts';
import { callCredentialsSchema, type CallCredentialsFields } from './call-credentials-schema.ts';
import { combineCallMedia, type FieldMistake, type MixedFormats } from './call-media.ts';
import { completeBody, sayMistake } from './media-profile.ts';
import { parseJsonObject } from './shared-fields.ts';

export type CallCredentialsBody = Omit<CallOrder, 'appId'>;

/** What the product of a device says of its calls; null: nothing, or nothing to this caller. May throw. */
export type FindMediaProfile = (deviceId: DeviceId) => MediaProfile | null;

/** What a backend hands on to the device. */
export interface CallCredentials {
  readonly peerId: string;
  /** A secret. */
  readonly token: string;
  /** Where its device connects for the call: `ws://host:port` or `wss://host:port`; null: not known. */
  readonly mediaUrl: string | null;
  /** What the call will not have though it is issued, for `msg`; left out: nothing is amiss. */
  readonly note?: string | undefined;
}

/** Twenty times as fast as the schema itself; what it does not take is looked at by the schema, for the message. */
const fastSchema = z.compile(callCredentialsSchema, { strict: true });
const fieldNames = Object.keys(callCredentialsSchema.shape);

/** A body that is read, and may be completed. */
export interface ReadCallBody {
  readonly body: JsonObject;
  /** The order that it is when nothing completes it. */
  readonly alone: Result<CallCredentialsBody, FieldMistake>;
}

export function readCallBody(body: Uint8Array, mixed: MixedFormats): Result<ReadCallBody, string> {
  const object = parseJsonObject(body);
  if (!object.ok) return object;
  const fields = shallowFields(object.value);
  return succeed({ body: fields, alone: decodeFields(fields, mixed) });
}

/** No field is an object: one that is sent is refused, and its nesting could overflow the stack of a front that posts it. */
function shallowFields(body: JsonObject): JsonObject {
  const fields: Record<string, unknown> = {};
  for (const name of fieldNames)
    if (Object.hasOwn(body, name))
      fields[name] = typeof body[name] === 'object' ? emptied(body[name]) : body[name];
  return fields;
}

function emptied(value: unknown): unknown {
  if (value === null) return null;
  return Array.isArray(value) ? [] : {};
}

/**
 * The values with defaults, or what is wrong in words for the caller. What the body leaves out and the product of its device
 * has is taken from there, and the whole is checked as if it had been sent. Throws what `findProfile` throws.
 */
export function completeCallOrder(
  { body, alone }: ReadCallBody,
  mixed: MixedFormats,
  findProfile: FindMediaProfile,
): Result<CallCredentialsBody, string> {
  const profile = profileFor(body, findProfile);
  const { fields, defaulted } = completeBody(body, profile);
  const decoded = profile === null ? alone : decodeFields(fields, mixed);
  return decoded.ok ? decoded : fail(sayMistake(decoded.error, defaulted));
}

function profileFor({ device_id: id }: JsonObject, findProfile: FindMediaProfile): MediaProfile | null {
  const deviceId = typeof id === 'string' ? parseDeviceId(id) : null;
  return deviceId === null ? null : findProfile(deviceId);
}

function decodeFields(given: JsonObject, mixed: MixedFormats): Result<CallCredentialsBody, FieldMistake> {
  const fields = fastSchema.safeParse(given);
  if (!fields.success) return fail(firstMistake(fields.error));
  const media = combineCallMedia(fields.data, mixed);
  if (!media.ok) return media;
  const { device_id: deviceId, calling_timeout_sec: callingTimeoutS } = fields.data;
  return succeed({ deviceId, room: roomOf(fields.data), media: media.value, callingTimeoutS });
}

function firstMistake({ issues: [first] }: z.ZodError): FieldMistake {
  return { field: String(first?.path[0]), rule: String(first?.message) };
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
export function encodeCallCredentials({ peerId, token, mediaUrl }: CallCredentials): string {
  return JSON.stringify({ peer_id: peerId, token, ...(mediaUrl !== null && { media_url: mediaUrl }) });
}

/**
 * `peer_id`, by which a device finds its call: where the call is and who is called, and no secret. Devices read the app id
 * and the model id without decoding. It is never longer than `peerIdBytesMax`: the bounds of its parts leave 1392 bytes, and
 * 1674 with a media listener, and a test holds them to that. `mediaUrl`: to be named in it; null: it isn't.
 */
export function encodePeerId(
  { room, deviceId, sessionId }: Pick<CallSession, 'room' | 'deviceId' | 'sessionId'>,
  mediaUrl: string | null,
): string {
  return (
    `whips://msgvoip?x_msg_app_id=${encode(room.msgAppId)}&x_msg_model_id=${encode(room.modelId)}` +
    `&x_msg_room_id=${encode(room.roomId)}&x_device_id=${encode(deviceId)}&x_session=${encode(sessionId)}` +
    (mediaUrl === null ? '' : `&x_media=${encode(mediaUrl)}`)
  );
}

/** RFC 3986: what is not unreserved is escaped, also the five that encodeURIComponent leaves. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
