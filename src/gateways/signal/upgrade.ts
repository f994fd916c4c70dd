/** Validates requests at the signal listener: one upgrade is accepted, all others are refused. Source: signal-wire.md; RFC 6455, 4.2. */
import type { IncomingMessage } from 'node:http';
import type { BareAnswer, RequestFault } from '../../lib/connections/bounded-server.ts';
import { signalRequestBytesMax } from '../../model/signal.ts';

const path = '/v1/signal';
export const subprotocol = 'reveille.signal.v1';
/** The shortest delay that the welcome asks of controllers, seconds. */
const retryAfterS = 2;

const notFound = refusal(404, 'no such path');
const upgradeRequired = refusal(
  426,
  `this is a WebSocket endpoint: upgrade with version 13 and the subprotocol ${subprotocol}`,
  { Upgrade: 'websocket', Connection: 'Upgrade, close', 'Sec-WebSocket-Version': '13' },
);
const badUpgrade = refusal(
  400,
  'the upgrade is a GET with Connection: Upgrade and a Sec-WebSocket-Key of 16 bytes in base64',
);
const noSubprotocol = refusal(
  400,
  `the upgrade must offer the subprotocol ${subprotocol} in Sec-WebSocket-Protocol`,
);
export const noRoom = refusal(503, 'too many connections are logging in, or the server is stopping', {
  'Retry-After': String(retryAfterS),
});
const faults: Readonly<Record<RequestFault, BareAnswer>> = {
  malformed: refusal(400, 'this is not an HTTP/1.1 request'),
  'too-large': refusal(431, `the request line and the headers are at most ${signalRequestBytesMax} bytes`),
  method: refusal(405, 'the method is GET', { Allow: 'GET' }),
};

/** Every refusal closes its connection. */
function refusal(
  status: number,
  sentence: string,
  headers: Readonly<Record<string, string>> = {},
): BareAnswer {
  const body = `${sentence}\n`;
  const type = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': String(body.length) };
  return { status, headers: { ...type, Connection: 'close', ...headers }, body };
}

export function refusalOfFault(fault: RequestFault): BareAnswer {
  return faults[fault];
}

export function refusalOfPlain(request: IncomingMessage): BareAnswer {
  if (!isOurs(request)) return notFound;
  return asksForWebSocket(request) ? badUpgrade : upgradeRequired;
}

const keyForm = /^[+/0-9A-Za-z]{22}==$/;

/** Null: the upgrade is valid. */
export function refusalOfUpgrade(request: IncomingMessage): BareAnswer | null {
  const { method, headers } = request;
  if (!isOurs(request)) return notFound;
  if (!asksForWebSocket(request)) return upgradeRequired;
  if (method !== 'GET' || !keyForm.test(headers['sec-websocket-key'] ?? '')) return badUpgrade;
  if (headers['sec-websocket-version'] !== '13') return upgradeRequired;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return offered.includes(subprotocol) ? null : noSubprotocol;
}

/** Accepts the absolute form as well, as a server must (RFC 9112, 3.2.2). */
function isOurs({ url = '' }: IncomingMessage): boolean {
  const [target = ''] = url.replace(/^(?:https?|wss?):\/\/[^/?]*/i, '').split('?');
  return target === path || target === `${path}/`;
}

function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}
