/**
 * A request at the listener, read into what somebody asks for; the library's memory of it is gone when its handler
 * returns. Who may come in is not judged here. Source: calls-and-media.md, Legs.
 */
import { fail, succeed, type Outcome } from '../base/outcome.ts';
import type { HttpRequest, us_socket_context_t } from '../base/uws.ts';
import type { LegRefusal } from '../domain/call.ts';
import { callTokenBytesMax } from '../domain/limits.ts';
import { badWebSocketKey, methodNotAllowed, notFound, upgradeRequired, type HttpRefusal } from './refusal.ts';

/** What the library wants back to make a WebSocket of the connection. */
export interface Upgrade {
  readonly webSocketKey: string;
  readonly context: us_socket_context_t;
}

export type LegRequest =
  | { readonly kind: 'device'; readonly token: string; readonly upgrade: Upgrade }
  | {
      readonly kind: 'bridge';
      readonly bridgeKey: string;
      /** As it was written; null: none. */
      readonly sessionId: string | null;
      readonly upgrade: Upgrade;
    }
  /** A device without WebSocket. */
  | { readonly kind: 'downlink'; readonly token: string }
  | { readonly kind: 'viewer'; readonly ticket: string };

type RequestOutcome = Outcome<LegRequest, HttpRefusal | LegRefusal>;

const devicePath = '/media/v1/device';
const bridgePath = '/media/v1/bridge';
const downlinkPath = '/media/v1/downlink.mjpeg';

/** `context`: null where the library found no well-formed Sec-WebSocket-Key. A LegRefusal: no credential, or none of its form. */
export function readLegRequest(request: HttpRequest, context: us_socket_context_t | null): RequestOutcome {
  const path = request.getUrl().replace(/\/$/, '');
  if (path !== devicePath && path !== bridgePath && path !== downlinkPath) return fail(notFound);
  if (request.getCaseSensitiveMethod() !== 'GET') return fail(methodNotAllowed);
  if (path === downlinkPath) return readDownlink(request);
  const upgrade = readUpgrade(request, context);
  if (!upgrade.ok) return upgrade;
  return path === devicePath ? readDevice(request, upgrade.value) : readBridge(request, upgrade.value);
}

function readUpgrade(
  request: HttpRequest,
  context: us_socket_context_t | null,
): Outcome<Upgrade, HttpRefusal> {
  if (request.getHeader('upgrade').toLowerCase() !== 'websocket') return fail(upgradeRequired);
  if (context === null) return fail(badWebSocketKey);
  if (request.getHeader('sec-websocket-version') !== '13') return fail(upgradeRequired);
  return succeed({ webSocketKey: request.getHeader('sec-websocket-key'), context });
}

function readDevice(request: HttpRequest, upgrade: Upgrade): RequestOutcome {
  const token = bearerOf(request);
  return token === null ? fail('malformed') : succeed({ kind: 'device', token, upgrade });
}

function readBridge(request: HttpRequest, upgrade: Upgrade): RequestOutcome {
  const session = readQuery(request, 'session');
  if (!session.ok) return session;
  const bridgeKey = bearerOf(request);
  if (bridgeKey === null) return fail('bridge_key');
  return succeed({ kind: 'bridge', bridgeKey, sessionId: session.value, upgrade });
}

/** A ticket goes before a token: it may do less. */
function readDownlink(request: HttpRequest): RequestOutcome {
  const ticket = readQuery(request, 'ticket');
  if (!ticket.ok) return ticket;
  if (ticket.value !== null) return succeed({ kind: 'viewer', ticket: ticket.value });
  const token = bearerOf(request);
  return token === null ? fail('malformed') : succeed({ kind: 'downlink', token });
}

/** Null: it is not there. */
function readQuery(request: HttpRequest, name: string): Outcome<string | null, HttpRefusal> {
  const [value = null, ...more] = new URLSearchParams(request.getQuery() ?? '').getAll(name);
  return more.length === 0 ? succeed(value) : fail({ status: 400, sentence: `${name} stands once at most` });
}

const bearerForm = /^bearer +([\x21-\x7e]+)$/i;

/** Null: none, more than one, or longer than a token is. `getHeader` would know one of several. */
function bearerOf(request: HttpRequest): string | null {
  const given: string[] = [];
  request.forEach((name, value) => {
    if (name === 'authorization') given.push(value);
  });
  const [only = '', ...more] = given;
  const bearer = bearerForm.exec(only)?.[1];
  return bearer === undefined || more.length > 0 || bearer.length > callTokenBytesMax ? null : bearer;
}
