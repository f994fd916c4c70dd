/**
 * The page that shows one person a call, and the requests it makes while it is open. A ticket opens it, once, since a browser
 * can bring no bearer token then; the page holds a key of this call alone, by which it asks for the state of the call and
 * for tickets of its pictures. The address is worth nothing once the page is there.
 */
import { randomBytes } from 'node:crypto';
import type { ViewerRequest, ViewerRoute } from '../ops/viewer-service.ts';
import type { OpsAnswer } from '../ops/ops-exchange.ts';
import type { WatchedCall } from '../../core/calls/viewer-keys.ts';
import { noTicket, pictureLink } from '../admin/call-routes.ts';
import type { Html } from './html-text.ts';
import { describeCarriedCall, type CarriedCallJson, type WatchDeps } from './watch-routes.ts';
import { noWatchPage, watchPage } from './watch-page.ts';

/** The state of a call, for its page. */
export interface WatchedCallJson extends Partial<CarriedCallJson> {
  /** Null: it lives. */
  readonly end_reason: string | null;
}

export function watchViewerRoutes(deps: WatchDeps): ViewerRoute[] {
  return [
    { path: '/watch', handle: ({ query }) => Promise.resolve(openPage(deps, query.get('ticket') ?? '')) },
    {
      path: '/watch/view',
      handle: (request) => withKey(deps, request, (watched) => answerView(deps, watched)),
    },
    {
      path: '/watch/pictures',
      handle: (request) => withKey(deps, request, async (watched) => givePictures(deps, watched)),
    },
  ];
}

function openPage(deps: WatchDeps, ticket: string): OpsAnswer {
  const sessionId = deps.pageTickets.take(ticket);
  const nonce = randomBytes(16).toString('base64url');
  if (sessionId === null)
    return pageAnswer(401, noWatchPage('This address is used up, or older than a minute.', nonce), { nonce });
  const call = deps.calls.find(sessionId);
  if (call === null) return pageAnswer(404, noWatchPage('This call has ended.', nonce), { nonce });
  const pictures = new URL(deps.mediaOrigin()).origin;
  return pageAnswer(200, watchPage(call, deps.keys.issue(sessionId), nonce), { nonce, pictures });
}

async function withKey(
  { keys }: WatchDeps,
  { bearer }: ViewerRequest,
  answer: (watched: WatchedCall) => Promise<OpsAnswer>,
): Promise<OpsAnswer> {
  const watched = bearer === null ? null : keys.find(bearer);
  return watched === null ? jsonAnswer(401, { error: 'the key of an open page is needed' }) : answer(watched);
}

async function answerView(deps: WatchDeps, watched: WatchedCall): Promise<OpsAnswer> {
  const described = await describeCarriedCall(deps, watched.sessionId);
  // It may have ended meanwhile.
  const body: WatchedCallJson = { ...described, end_reason: watched.endReason };
  return jsonAnswer(200, body);
}

/** A page has one ticket for each picture: by asking again and again it takes its own, and none from others. */
function givePictures(deps: WatchDeps, { key, sessionId }: WatchedCall): OpsAnswer {
  if (deps.calls.find(sessionId) === null) return jsonAnswer(404, { error: 'the call has ended' });
  const source = deps.tickets.issue(sessionId, `${key} source`);
  const output = deps.tickets.issue(sessionId, `${key} output`);
  if (source === null || output === null) return jsonAnswer(noTicket.status, noTicket.body);
  const origin = deps.mediaOrigin();
  return jsonAnswer(200, {
    source: pictureLink(origin, source.ticket, 'source'),
    output: pictureLink(origin, output.ticket, 'output'),
  });
}

interface PagePolicy {
  /** The nonce of the page's own script and style: no other runs. */
  readonly nonce: string;
  /** The origin of its pictures; left out: it has none. */
  readonly pictures?: string;
}

function pageAnswer(status: number, page: Html, { nonce, pictures = "'none'" }: PagePolicy): OpsAnswer {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    `img-src ${pictures}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  const headers = { 'Content-Security-Policy': policy.join('; '), ...pageHeaders };
  return { status, contentType: 'text/html; charset=utf-8', body: page.text, headers };
}

const pageHeaders = { 'Referrer-Policy': 'no-referrer', 'X-Content-Type-Options': 'nosniff' };

function jsonAnswer(status: number, body: unknown): OpsAnswer {
  const headers: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  return { status, contentType: 'application/json; charset=utf-8', body: JSON.stringify(body), headers };
}
