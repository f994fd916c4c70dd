/** Requests at the listener, parsed from path, headers and query. Admission is decided elsewhere. Source: calls-and-media.md, Legs. */
import type { IncomingMessage } from 'node:http';
import { badPicture, badWebSocketKey, methodNotAllowed, notFound, upgradeRequired } from './refusal.ts';
import type { HttpRefusal } from './refusal.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { LegRefusal } from '../../model/call.ts';
import { bearerOf, isRtcPath, readRtcRequest } from './rtc-request.ts';
import type { RtcChange, RtcOfferRequest, RtcPreflight } from './rtc-request.ts';

export type LegRequest =
  | { readonly kind: 'device'; readonly token: string }
  | {
      readonly kind: 'bridge';
      readonly bridgeKey: string;
      /** As received; null: none. */
      readonly sessionId: string | null;
    }
  | { readonly kind: 'downlink'; readonly token: string }
  | { readonly kind: 'viewer'; readonly ticket: string; readonly picture: WatchedPicture }
  | RtcOfferRequest;

export type WatchedPicture = 'source' | 'output';

type RequestOutcome = Result<LegRequest | RtcPreflight | RtcChange, HttpRefusal | LegRefusal>;

const devicePath = '/media/v1/device';
const bridgePath = '/media/v1/bridge';
const downlinkPath = '/media/v1/downlink.mjpeg';

/** `asksForUpgrade`: both upgrade headers are present. A LegRefusal: the credential is missing or malformed. */
export function readLegRequest(request: IncomingMessage, asksForUpgrade: boolean): RequestOutcome {
  const path = pathOf(request);
  if (isRtcPath(path)) return readRtcRequest(request, path);
  if (path !== devicePath && path !== bridgePath && path !== downlinkPath) return fail(notFound);
  if (request.method !== 'GET') return fail(methodNotAllowed);
  const [, ...query] = (request.url ?? '').split('?');
  const parameters = new URLSearchParams(query.join('?'));
  if (path === downlinkPath) return readDownlink(request, parameters);
  const wrong = asksForUpgrade ? faultOfUpgrade(request) : upgradeRequired;
  if (wrong !== null) return fail(wrong);
  return path === devicePath ? readDevice(request) : readBridge(request, parameters);
}

export function pathOf({ url = '' }: IncomingMessage): string {
  const [target = ''] = url.split('?');
  return target.replace(/\/$/, '');
}

/** True for WebRTC resources, whose requests may have a body. */
export function isRtcRequest(request: IncomingMessage): boolean {
  return isRtcPath(pathOf(request));
}

const keyForm = /^[+/0-9A-Za-z]{22}==$/;

function faultOfUpgrade({ headers }: IncomingMessage): HttpRefusal | null {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return upgradeRequired;
  if (!keyForm.test(headers['sec-websocket-key'] ?? '')) return badWebSocketKey;
  return headers['sec-websocket-version'] === '13' ? null : upgradeRequired;
}

function readDevice(request: IncomingMessage): RequestOutcome {
  const token = bearerOf(request);
  return token === null ? fail('malformed') : succeed({ kind: 'device', token });
}

function readBridge(request: IncomingMessage, parameters: URLSearchParams): RequestOutcome {
  const session = readOnce(parameters, 'session');
  if (!session.ok) return session;
  const bridgeKey = bearerOf(request);
  if (bridgeKey === null) return fail('bridge_key');
  return succeed({ kind: 'bridge', bridgeKey, sessionId: session.value });
}

/** A ticket takes precedence over a token, because it permits less. */
function readDownlink(request: IncomingMessage, parameters: URLSearchParams): RequestOutcome {
  const ticket = readOnce(parameters, 'ticket');
  if (!ticket.ok) return ticket;
  if (ticket.value !== null) return readViewer(ticket.value, parameters);
  const token = bearerOf(request);
  return token === null ? fail('malformed') : succeed({ kind: 'downlink', token });
}

function readViewer(ticket: string, parameters: URLSearchParams): RequestOutcome {
  const picture = readOnce(parameters, 'picture');
  if (!picture.ok) return picture;
  const watched = picture.value ?? 'output';
  if (watched !== 'source' && watched !== 'output') return fail(badPicture);
  return succeed({ kind: 'viewer', ticket, picture: watched });
}

function readOnce(parameters: URLSearchParams, name: string): Result<string | null, HttpRefusal> {
  const [value = null, ...more] = parameters.getAll(name);
  return more.length === 0 ? succeed(value) : fail({ status: 400, sentence: `pass ${name} at most once` });
}
