/** Identifiers, branded so that one kind is never passed for another. Parsing and generating are the only ways to create one. */
import { randomFillSync } from 'node:crypto';
import { v5 as uuidv5, v7 as uuidv7 } from 'uuid';
import { utf8Length } from '../lib/utf8.ts';
import { accessKeyIdBytesMax, deviceIdBytesMax, registryIdBytesMax, requestIdBytesMax } from './limits.ts';

export type DeviceId = string & { readonly brand: 'DeviceId' };
export type ApplicationId = string & { readonly brand: 'ApplicationId' };
export type ProductId = string & { readonly brand: 'ProductId' };
export type AccessKeyId = string & { readonly brand: 'AccessKeyId' };
export type RequestId = string & { readonly brand: 'RequestId' };
/** Identifies one wakeup: several may have the same request id. */
export type WakeupId = string & { readonly brand: 'WakeupId' };
export type SessionId = string & { readonly brand: 'SessionId' };
export type EventId = string & { readonly brand: 'EventId' };
export type MessageId = string & { readonly brand: 'MessageId' };
export type BridgeId = string & { readonly brand: 'BridgeId' };
/** `jti` of a call token. */
export type TokenId = string & { readonly brand: 'TokenId' };

/** 1-255 bytes of valid UTF-8, compared byte for byte; null otherwise. Source: API doc, Resources, device_id. */
export function parseDeviceId(text: string): DeviceId | null {
  const bytes = utf8Length(text);
  return bytes >= 1 && bytes <= deviceIdBytesMax ? (text as DeviceId) : null;
}

const printableAscii = /^[\x20-\x7e]+$/;

/** 1-128 printable ASCII characters; null otherwise. Source: API doc, Endpoint 2, X-Request-ID. */
export function parseRequestId(text: string): RequestId | null {
  return text.length <= requestIdBytesMax && printableAscii.test(text) ? (text as RequestId) : null;
}

const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/** 1-128 visible ASCII characters, the form of every session id; null otherwise. */
export function parseSessionId(text: string): SessionId | null {
  return visibleAscii.test(text) ? (text as SessionId) : null;
}

const accessKeyIdForm = /^[\x21-\x2b\x2d\x2e\x30-\x7e]+$/;

/** 1-128 printable ASCII characters without space, comma and slash, as Authorization allows; null otherwise. */
export function parseAccessKeyId(text: string): AccessKeyId | null {
  return text.length <= accessKeyIdBytesMax && accessKeyIdForm.test(text) ? (text as AccessKeyId) : null;
}

const controlOrSurrogate = /[\p{Cc}\p{Cs}]/u;

/** 1-255 bytes of UTF-8 without control characters: fits one line of a listing and one part of a key. */
function isRegistryId(text: string): boolean {
  const bytes = utf8Length(text);
  return bytes >= 1 && bytes <= registryIdBytesMax && !controlOrSurrogate.test(text);
}

export function parseApplicationId(text: string): ApplicationId | null {
  return isRegistryId(text) ? (text as ApplicationId) : null;
}

export function parseProductId(text: string): ProductId | null {
  return isRegistryId(text) ? (text as ProductId) : null;
}

export function parseBridgeId(text: string): BridgeId | null {
  return isRegistryId(text) ? (text as BridgeId) : null;
}

/** A UUIDv7: sortable by time; client ids do not resemble it by chance. */
export function generateRequestId(): RequestId {
  return generateUuid() as RequestId;
}

/** Namespace (random UUID) of the ids of wakeups that messages request. */
const messageWakeups = '5a3f7c1e-9d42-4b8a-a6e7-0c1b2d3e4f50';

/** Deterministic: equal for the same signed request at every member; reveals nothing of its signature. */
export function wakeupIdOf(signature: string): RequestId {
  return uuidv5(signature, messageWakeups) as RequestId;
}

export function generateSessionId(): SessionId {
  return generateUuid() as SessionId;
}

export function generateMessageId(): MessageId {
  return generateUuid() as MessageId;
}

export function generateTokenId(): TokenId {
  return generateUuid() as TokenId;
}

/** A UUIDv7 in the order of the answers: `sequence` counts them and orders those of one millisecond. */
export function generateWakeupId(answeredAtMs: number, sequence: number): WakeupId {
  return generatePlacedUuid(answeredAtMs, sequence) as WakeupId;
}

/**
 * A UUIDv7 in the order of the log: `wallMs` never decreases between calls, and `sequence`, the event's position in the log,
 * orders those of one millisecond.
 */
export function generateEventId(wallMs: number, sequence: number): EventId {
  return generatePlacedUuid(wallMs, sequence) as EventId;
}

function generatePlacedUuid(wallMs: number, sequence: number): string {
  placedOptions.msecs = Math.max(0, Math.floor(wallMs));
  placedOptions.seq = sequence % 2 ** 31;
  return generateUuid(placedOptions);
}

const uuidBytes = new Uint8Array(16);
const randomPool = new Uint8Array(uuidBytes.length * 256);
let randomUsed = randomPool.length;
const uuidOptions = { random: new Uint8Array(uuidBytes.length) };
const placedOptions = { ...uuidOptions, msecs: 0, seq: 0 };

/** Random bytes are drawn for 256 ids at a time: drawing them dominates the cost of an id. */
function generateUuid(options: typeof uuidOptions = uuidOptions): string {
  if (randomUsed === randomPool.length) {
    randomFillSync(randomPool);
    randomUsed = 0;
  }
  for (let i = 0; i < uuidBytes.length; i++) uuidOptions.random[i] = randomPool[randomUsed + i] ?? 0;
  randomUsed += uuidBytes.length;
  uuidv7(options, uuidBytes);
  return writeUuid();
}

const hexDigits = Buffer.from('0123456789abcdef');
const uuidText = Buffer.from('00000000-0000-0000-0000-000000000000');
/** Position of each byte's digits. */
const uuidPlaces = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);

/** Builds the text in one piece: the library's text is a rope of 20 pieces, which each writer would have to flatten. */
function writeUuid(): string {
  for (let i = 0; i < uuidBytes.length; i++) {
    const byte = uuidBytes[i] ?? 0;
    const place = uuidPlaces[i] ?? 0;
    uuidText[place] = hexDigits[byte >> 4] ?? 0;
    uuidText[place + 1] = hexDigits[byte & 15] ?? 0;
  }
  return uuidText.toString('latin1');
}
