/**
 * Decodes messages of a controller from WebSocket messages. Known fields are validated, unknown ones ignored; the phase decides
 * the allowed messages. Source: signal-wire.md.
 */
import { decodeJsonObject, isJsonObject } from '../../lib/utf8.ts';
import { rejectionReasons, type CallRejection } from '../../model/call.ts';
import { parseDeviceId, parseRequestId, parseSessionId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { signalMediaBytesMax } from '../../model/limits.ts';
import { wakeCauses, type SignalLogin, type WakeReport } from '../../model/signal.ts';
import { hmacSha256OfSecret } from '../../lib/crypto/hmac.ts';

/** `login`: the challenge was sent, nothing is authenticated. `session`: the login is accepted. */
export type SignalPhase = 'login' | 'session';

export type ControllerMessage =
  | { readonly kind: 'login'; readonly login: SignalLogin }
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'wake-report'; readonly report: WakeReport }
  /** `id`: of the acknowledged message; may be unknown. */
  | { readonly kind: 'ack'; readonly id: string }
  | { readonly kind: 'call-reject'; readonly rejection: CallRejection }
  | { readonly kind: 'bye' }
  /** Malformed, unknown, or out of order: closed with 4400. */
  | { readonly kind: 'invalid' };

const heartbeat = { kind: 'heartbeat' } as const;
const bye = { kind: 'bye' } as const;
const invalid = { kind: 'invalid' } as const;
/** The usual spelling of a heartbeat, recognised without parsing. */
const usualHeartbeat = Buffer.from('{"type":"heartbeat"}', 'latin1');

/** Does not retain `bytes`. */
export function decodeControllerMessage(
  bytes: Uint8Array,
  isBinary: boolean,
  phase: SignalPhase,
): ControllerMessage {
  if (isBinary) return invalid;
  if (phase === 'session' && usualHeartbeat.equals(bytes)) return heartbeat;
  const decoded = decodeJsonObject(bytes);
  if (!decoded.ok) return invalid;
  const fields: JsonObject = decoded.value;
  return phase === 'login' ? decodeBeforeLogin(fields) : decodeInSession(fields);
}

function decodeBeforeLogin(fields: JsonObject): ControllerMessage {
  switch (fields['type']) {
    case 'login':
      return decodeLogin(fields);
    case 'bye':
      return decodeBye(fields);
    default:
      return invalid;
  }
}

function decodeInSession(fields: JsonObject): ControllerMessage {
  switch (fields['type']) {
    case 'heartbeat':
      return heartbeat;
    case 'ack':
      return typeof fields['id'] === 'string' ? { kind: 'ack', id: fields['id'] } : invalid;
    case 'wake_report':
      return decodeWakeReport(fields);
    case 'call_reject':
      return decodeCallReject(fields);
    case 'bye':
      return decodeBye(fields);
    default:
      return invalid;
  }
}

const macForm = /^[0-9a-f]{64}$/;

function decodeLogin({ device_id: id, mac, media }: JsonObject): ControllerMessage {
  const deviceId = typeof id === 'string' ? parseDeviceId(id) : null;
  if (deviceId === null || typeof mac !== 'string' || !macForm.test(mac)) return invalid;
  if (media !== undefined && !isMedia(media)) return invalid;
  return { kind: 'login', login: { deviceId, mac: Buffer.from(mac, 'hex'), media: media ?? null } };
}

/** The brackets of a deeper value alone exceed the bytes. Checked first because serialising takes V8 time quadratic in the depth. */
const mediaDepthMax = signalMediaBytesMax / 2;

function isMedia(media: unknown): media is JsonObject {
  if (!isJsonObject(media) || isDeeperThan(media, mediaDepthMax)) return false;
  return Buffer.byteLength(JSON.stringify(media), 'utf8') <= signalMediaBytesMax;
}

/** Iterative: the sender controls the nesting. */
function isDeeperThan(root: object, depthMax: number): boolean {
  let level: unknown[] = [root];
  for (let depth = 1; level.length > 0; depth += 1) {
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
    if (depth > depthMax && level.length > 0) return true;
  }
  return false;
}

function decodeWakeReport({ cause: given, request_id: id }: JsonObject): ControllerMessage {
  const cause = wakeCauses.find((known) => known === given);
  if (cause === undefined) return invalid;
  if (id === undefined) return { kind: 'wake-report', report: { cause, requestId: null } };
  const requestId = typeof id === 'string' ? parseRequestId(id) : null;
  return requestId === null ? invalid : { kind: 'wake-report', report: { cause, requestId } };
}

function decodeCallReject({ session, reason: given }: JsonObject): ControllerMessage {
  const sessionId = typeof session === 'string' ? parseSessionId(session) : null;
  const reason = rejectionReasons.find((known) => known === given);
  if (sessionId === null || reason === undefined) return invalid;
  return { kind: 'call-reject', rejection: { sessionId, reason } };
}

function decodeBye({ reason }: JsonObject): ControllerMessage {
  return typeof reason === 'string' ? bye : invalid;
}

/** HMAC-SHA256 over `RVS1` LF session key LF base64url of the device id, unpadded; 32 bytes. Source: signal-wire.md. */
export function computeSignalMac(secret: string, sessionKey: string, deviceId: string): Buffer {
  const idField = Buffer.from(deviceId, 'utf8').toString('base64url');
  return hmacSha256OfSecret(secret, `RVS1\n${sessionKey}\n${idField}`);
}
