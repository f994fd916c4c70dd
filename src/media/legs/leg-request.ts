/**
 * Parses a request at the listener. Whether it may come in is not decided here. Source:
 * calls-and-media.md, Legs.
 */
import type { IncomingMessage } from 'node:http';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { LegRefusal } from '../../model/call.ts';
import { callTokenBytesMax } from '../../model/limits.ts';
import {
  badPicture,
  badWebSocketKey,
  methodNotAllowed,
  notFound,
  upgradeRequired,
  type HttpRefusal,
} from './refusal.ts';

export type LegRequest =
  | { readonly kind: 'device'; readonly token: string }
  | {
      readonly kind: 'bridge';
      readonly bridgeKey: string;
      /** As it was written; null: none. */
      readonly sessionId: string | null;
    }
  /** A device without WebSocket. */
  | { readonly kind: 'downlink'; readonly token: string }
  | { readonly kind: 'viewer'; readonly ticket: string; readonly picture: WatchedPicture };

/** What the bridge sends, or what the device is sent. */
export type WatchedPicture = 'source' | 'output';

type RequestOutcome = Result<LegRequest, HttpRefusal | LegRefusal>;

const devicePath = '/media/v1/device';
const bridgePath = '/media/v1/bridge';
const downlinkPath = '/media/v1/downlink.mjpeg';

/** `asksForUpgrade`: by both headers that it takes. A LegRefusal: no credential, or none of its form. */
export function readLegRequest(request: IncomingMessage, asksForUpgrade: boolean): RequestOutcome {
  const [target = '', ...query] = (request.url ?? '').split('?');
  const path = target.replace(/\/$/, '');
  if (path !== devicePath && path !== bridgePath && path !== downlinkPath) return fail(notFound);
  if (request.method !== 'GET') return fail(methodNotAllowed);
  const parameters = new URLSearchParams(query.join('?'));
  if (path === downlinkPath) return readDownlink(request, parameters);
  const wrong = asksForUpgrade ? faultOfUpgrade(request) : upgradeRequired;
  if (wrong !== null) return fail(wrong);
  return path === devicePath ? readDevice(request) : readBridge(request, parameters);
}

const keyForm = /^[+/0-9A-Za-z]{22}==$/;

/** Null: none. */
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

/** A ticket goes before a token: it may do less. */
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

/** Null: it is not there. */
function readOnce(parameters: URLSearchParams, name: string): Result<string | null, HttpRefusal> {
  const [value = null, ...more] = parameters.getAll(name);
  return more.length === 0 ? succeed(value) : fail({ status: 400, sentence: `${name} stands once at most` });
}

const bearerForm = /^bearer +([\x21-\x7e]+)$/i;

/** Null: none, more than one, or longer than a token is. `headers` would know one of several. */
function bearerOf({ headersDistinct }: IncomingMessage): string | null {
  const [only = '', ...more] = headersDistinct['authorization'] ?? [];
  const bearer = bearerForm.exec(only)?.[1];
  return bearer === undefined || more.length > 0 || bearer.length > callTokenBytesMax ? null : bearer;
}
