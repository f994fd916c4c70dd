/** Names of things, branded so that one is never passed for another. Parsing is the only way to make one. */
import { v7 as uuidv7 } from 'uuid';
import { utf8Length } from '../base/utf8.ts';
import { deviceIdBytesMax, requestIdBytesMax } from './limits.ts';

export type DeviceId = string & { readonly brand: 'DeviceId' };
export type ApplicationId = string & { readonly brand: 'ApplicationId' };
export type ProductId = string & { readonly brand: 'ProductId' };
export type AccessKeyId = string & { readonly brand: 'AccessKeyId' };
export type RequestId = string & { readonly brand: 'RequestId' };
export type SessionId = string & { readonly brand: 'SessionId' };

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

/** A UUIDv7: sortable by time, and no client's own id looks like it by chance. */
export function generateRequestId(): RequestId {
  return uuidv7() as RequestId;
}

export function generateSessionId(): SessionId {
  return uuidv7() as SessionId;
}
