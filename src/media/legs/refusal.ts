/**
 * Refusals at the listener: a status, and a sentence that says what to do; as JSON, or as problem details at the WebRTC resources.
 * Source: calls-and-media.md, Legs; RFC 9457.
 */
import { STATUS_CODES } from 'node:http';
import type { BareAnswer, RequestFault } from '../../lib/connections/bounded-server.ts';
import type { CallElsewhere } from '../../core/ports/leg-service.ts';
import type { LegRefusal } from '../../model/call.ts';
import { legRequestBytesMax } from '../../model/limits.ts';

export interface HttpRefusal {
  readonly status: number;
  readonly sentence: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields?: Readonly<Record<string, string>>;
}

export type RefusalAnswer = BareAnswer;

export const notFound: HttpRefusal = {
  status: 404,
  sentence:
    'nothing is here: the paths are /media/v1/device, /media/v1/bridge, /media/v1/downlink.mjpeg and /media/v1/whip',
};
export const methodNotAllowed: HttpRefusal = {
  status: 405,
  sentence: 'the method is GET',
  headers: { Allow: 'GET' },
};
export const upgradeRequired: HttpRefusal = {
  status: 426,
  sentence: 'this is a WebSocket endpoint: upgrade with version 13',
  headers: { Upgrade: 'websocket', Connection: 'Upgrade, close', 'Sec-WebSocket-Version': '13' },
};
export const badWebSocketKey: HttpRefusal = {
  status: 400,
  sentence: 'the upgrade needs a Sec-WebSocket-Key of 24 characters',
};
export const badPicture: HttpRefusal = { status: 400, sentence: 'picture is source or output' };

const noRequest: HttpRefusal = { status: 400, sentence: 'this is not an HTTP/1.1 request' };
const requestTooLarge: HttpRefusal = {
  status: 431,
  sentence: `the request line and the headers are at most ${legRequestBytesMax} bytes`,
};

export function refusalOfFault(fault: RequestFault): HttpRefusal {
  return { malformed: noRequest, 'too-large': requestTooLarge, method: methodNotAllowed }[fault];
}

/** `waitMs`: until the next request is allowed. */
export function tooOften(waitMs: number): HttpRefusal {
  const headers = { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1000))) };
  return {
    status: 429,
    sentence: 'too many requests for this session or from this address: retry after Retry-After',
    headers,
  };
}

export function tooLarge(bytesMax: number): HttpRefusal {
  return { status: 413, sentence: `the body is at most ${bytesMax} bytes` };
}

export function answerOf(refusal: HttpRefusal): RefusalAnswer {
  return jsonAnswer(
    'application/json; charset=utf-8',
    { error: refusal.sentence, ...refusal.fields },
    refusal,
  );
}

export function problemOf(refusal: HttpRefusal): RefusalAnswer {
  const { status, sentence } = refusal;
  const problem = { type: 'about:blank', title: STATUS_CODES[status] ?? '', status, detail: sentence };
  return jsonAnswer('application/problem+json', problem, refusal);
}

/** For a leg whose call is at another media process. Source: RFC 9110, 15.5.20. */
export function misdirected({ mediaUrl }: CallElsewhere): HttpRefusal {
  return {
    status: 421,
    sentence: `the call is at another media listener of this service: connect to ${mediaUrl}`,
    fields: { media_url: mediaUrl },
  };
}

/** Redirects the offer of a device, whose client follows it. `target`: of the request. Source: RFC 9725, 4.5. */
export function redirected({ mediaUrl }: CallElsewhere, target: string): HttpRefusal {
  return {
    status: 307,
    sentence: 'the call is at another media listener of this service: send the offer there',
    headers: { Location: `${mediaUrl.replace(/^ws/, 'http')}${target}` },
  };
}

/** Every refusal ends its connection. */
function jsonAnswer(type: string, value: object, { status, headers }: HttpRefusal): RefusalAnswer {
  const body = JSON.stringify(value);
  const length = String(Buffer.byteLength(body));
  return {
    status,
    headers: { 'Content-Type': type, 'Content-Length': length, Connection: 'close', ...headers },
    body,
  };
}

/** For peers that may retry soon. */
const retryAfterS = 2;

export function refusalOf(reason: LegRefusal): HttpRefusal {
  switch (reason) {
    case 'unknown_session':
      return { status: 404, sentence: sentences[reason] };
    case 'viewers':
      return { status: 409, sentence: sentences[reason] };
    case 'load':
    case 'engine':
    case 'webrtc':
    case 'busy':
    case 'unavailable':
      return {
        status: 503,
        sentence: sentences[reason],
        headers: { 'Retry-After': String(retryAfterS) },
      };
    default:
      return { status: 401, sentence: sentences[reason], headers: { 'WWW-Authenticate': 'Bearer' } };
  }
}

const requestNew = 'request new call credentials from the backend';

const sentences: Readonly<Record<LegRefusal, string>> = {
  malformed: 'send the token that was issued for the call as Authorization: Bearer, once',
  algorithm: `the token is not signed with the algorithm of this service: ${requestNew}`,
  unknown_key: `the key that signed the token is no longer in use: ${requestNew}`,
  signature: `the signature of the token is wrong: ${requestNew}`,
  issuer: `the token was issued by another service: ${requestNew}`,
  audience: `the token was issued for another purpose: ${requestNew}`,
  expired: `the token has expired: ${requestNew}`,
  device: 'the device of the token is unknown, disabled or expired',
  session_ended: `the call of the token has ended: ${requestNew}`,
  bridge_key: 'send a key that the registry lists and has not revoked as Authorization: Bearer, once',
  unknown_session: 'this bridge has no such session',
  ticket: 'the ticket is unknown, used or expired: request another one',
  viewers: 'this session has the maximum number of viewers',
  load: 'all transcoding workers are at capacity: end another call, or give the media process more CPU cores',
  engine: 'the video of this call needs transcoding, and this machine has no decoder: see docs/media.md',
  webrtc:
    'WebRTC is not available on this server: connect by WebSocket at /media/v1/device, or see WebRTC in docs/media.md',
  busy: 'too many connections, or the server is stopping: retry after Retry-After',
  unavailable: 'the credential cannot be checked at the moment: retry after Retry-After',
};
