/**
 * POST /v1/token/msgvoip: body in, `data` out. A message names the field and its rule, never the value: some values are secret.
 * Faults of single fields are reported before faults across fields (call-media.ts). Source: API doc, Endpoint 4;
 * calls-and-media.md, Credential issuance.
 */
import { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { CallOrder, CallSession } from '../../model/call.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { MediaProfile } from '../../model/product-defaults.ts';
import { callCredentialsSchema, type CallCredentialsFields } from './call-credentials-schema.ts';
import { combineCallMedia, type FieldMistake, type MixedFormats } from './call-media.ts';
import { completeBody, mistakeSentence } from './media-profile.ts';
import { parseJsonObject } from './shared-fields.ts';

export type CallCredentialsBody = Omit<CallOrder, 'appId'>;

/** The media profile of a device's product; null: none, or none that this caller may see. May throw. */
export type FindMediaProfile = (deviceId: DeviceId) => MediaProfile | null;

export interface CallCredentials {
  readonly peerId: string;
  /** A secret. */
  readonly token: string;
  /** Media address for the device: `ws://host:port` or `wss://host:port`; null: unknown. */
  readonly mediaUrl: string | null;
  /** A limitation of the issued call, for `msg`. Default: none. */
  readonly note?: string | undefined;
}

/** Twenty times as fast as the schema, which is used only to explain a rejected body. */
const fastSchema = z.compile(callCredentialsSchema, { strict: true });
const fieldNames = Object.keys(callCredentialsSchema.shape);

export interface ReadCallBody {
  readonly body: JsonObject;
  readonly alone: Result<CallCredentialsBody, FieldMistake>;
}

export function readCallBody(body: Uint8Array, mixed: MixedFormats): Result<ReadCallBody, string> {
  const object = parseJsonObject(body);
  if (!object.ok) return object;
  const fields = shallowFields(object.value);
  return succeed({ body: fields, alone: decodeFields(fields, mixed) });
}

/** No field is an object: an object is refused, and its nesting could overflow the stack of a front that posts it. */
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
 * The values with defaults, or the fault in words for the caller. Omitted fields are taken from the profile of the device's
 * product, and the whole is validated as if it had been sent. Throws what `findProfile` throws.
 */
export function completeCallOrder(
  { body, alone }: ReadCallBody,
  mixed: MixedFormats,
  findProfile: FindMediaProfile,
): Result<CallCredentialsBody, string> {
  const profile = profileFor(body, findProfile);
  const { fields, defaulted } = completeBody(body, profile);
  const decoded = profile === null ? alone : decodeFields(fields, mixed);
  return decoded.ok ? decoded : fail(mistakeSentence(decoded.error, defaulted));
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

export function encodeCallCredentials({ peerId, token, mediaUrl }: CallCredentials): string {
  return JSON.stringify({ peer_id: peerId, token, ...(mediaUrl !== null && { media_url: mediaUrl }) });
}

/**
 * `peer_id`, by which a device finds its call: the call's location and the called room, no secret. Devices read the app id and
 * the model id without decoding. It never exceeds `peerIdBytesMax`: its bounded parts add up to 1392 bytes, 1674 with a media
 * listener (tested). `mediaUrl`: included if not null.
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

/** RFC 3986: escapes all but unreserved characters, including the five that encodeURIComponent leaves. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
