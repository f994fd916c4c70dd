/**
 * The pictures of a call on the ops listener: `GET /v1/calls/media` describes them to machines, `POST /v1/calls/watch` answers
 * the address of a page that shows them to one person. A ticket opens the page, once, since a browser can bring no bearer
 * token then; the page holds a key of this call alone, by which it asks for the state of the call and for tickets of its
 * pictures. The address is worth nothing once the page is there.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { BridgePool } from '../../core/calls/bridge-pool.ts';
import type { CallDirectory } from '../../core/calls/call-directory.ts';
import type { SessionId } from '../../model/ids.ts';
import type { ViewerTickets, WatchKeys, WatchedCall } from '../../core/calls/viewers.ts';
import { encodeCall, type CallJson, noTicket, unknownSession, pictureLink } from '../admin/call-routes.ts';
import type { MediaView, StreamView } from '../../model/media/picture.ts';
import type { MediaAddress } from '../../protocol/media-link/media-values.ts';
import { type AdminReply, type AdminRoute, changeRoute, readRoute } from '../ops/admin-route.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';
import type { ViewerAnswer, ViewerRequest, ViewerRoute } from '../ops/viewer-routes.ts';
import type { Html } from './html-text.ts';
import { noWatchPage, watchPage } from './watch-page.ts';

/** The dependencies of routes and pages that show a call. */
export interface WatchDeps {
  readonly calls: Pick<CallDirectory, 'find' | 'hasDevice' | 'hasBridge'>;
  readonly bridges: Pick<BridgePool, 'waitsFor'>;
  readonly media: MediaProcess;
  /** Tickets of pictures. */
  readonly tickets: Pick<ViewerTickets, 'issue'>;
  /** Tickets of pages: a set of their own, so that neither opens the other. */
  readonly pageTickets: Pick<ViewerTickets, 'issue' | 'take'>;
  /** Keys of pages that are open. */
  readonly keys: Pick<WatchKeys, 'issue' | 'find'>;
  /** The origin by which people reach the ops listener. */
  opsOrigin(): string;
  /** The same of the media listener of the call, such as `https://media.example:8083`. */
  mediaOrigin(sessionId: SessionId): string;
  /** Those of all media processes, to any of which a call may come. */
  mediaOrigins(): readonly string[];
}

/** The media process, asked about a call. */
interface MediaProcess {
  /** Null: there is none, or it does not listen yet. */
  readonly address: MediaAddress | null;
  view(session: SessionId): Promise<MediaView | null>;
}

export interface CarriedCallJson {
  readonly call: CallJson;
  /** Null: none of its legs is connected to the media process yet, or that does not answer. */
  readonly view: MediaViewJson | null;
}

/** Null: there is no such live session. */
export async function describeCarriedCall(
  { calls, bridges, media }: Pick<WatchDeps, 'calls' | 'bridges' | 'media'>,
  sessionId: SessionId,
): Promise<CarriedCallJson | null> {
  const view = await media.view(sessionId);
  const session = calls.find(sessionId);
  if (session === null) return null;
  const legs = { device: calls.hasDevice(sessionId), bridge: calls.hasBridge(sessionId) };
  const call = encodeCall(session, legs, bridges.waitsFor(sessionId));
  return { call, view: view === null ? null : encodeMediaView(view) };
}

/** A session in the media process, as JSON for operators. */
interface MediaViewJson {
  readonly mode: string;
  readonly device: boolean;
  readonly bridge: boolean;
  readonly viewers: number;
  readonly source: StreamViewJson | null;
  readonly output: StreamViewJson | null;
  /** Counts by result. */
  readonly frames: MediaView['frames'];
  readonly rebuilds: number;
  readonly key_frames_asked: number;
  readonly frame_ms: MediaView['frameMs'];
  readonly work_ms: MediaView['workMs'];
}

interface StreamViewJson {
  readonly format: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly frames_per_second: number;
  readonly bytes_per_second: number;
}

function encodeMediaView(view: MediaView): MediaViewJson {
  return {
    mode: view.mode,
    device: view.hasDevice,
    bridge: view.hasBridge,
    viewers: view.viewers,
    source: encodeStream(view.source),
    output: encodeStream(view.output),
    frames: view.frames,
    rebuilds: view.rebuilds,
    key_frames_asked: view.keyFramesAsked,
    frame_ms: view.frameMs,
    work_ms: view.workMs,
  };
}

function encodeStream(stream: StreamView | null): StreamViewJson | null {
  if (stream === null) return null;
  return {
    format: stream.format,
    width: stream.size?.width ?? null,
    height: stream.size?.height ?? null,
    frames_per_second: stream.framesPerSecond,
    bytes_per_second: stream.bytesPerSecond,
  };
}

const asked = z.strictObject({ session: z.string().min(1) as unknown as z.ZodType<SessionId> });

export function watchRoutes(deps: WatchDeps): AdminRoute[] {
  return [
    readRoute('/v1/calls/media', asked, ({ session }) => describe(deps, session)),
    changeRoute('/v1/calls/watch', asked, { action: 'call.watch', asked: ['session'] }, async ({ session }) =>
      handOut(deps, session),
    ),
  ];
}

async function describe(deps: WatchDeps, sessionId: SessionId): Promise<AdminReply> {
  const described = await describeCarriedCall(deps, sessionId);
  if (described === null) return unknownSession(sessionId);
  if (deps.media.address !== null) return { status: 200, body: described };
  return { status: 503, body: { error: 'no media process is there at the moment' } };
}

function handOut(deps: WatchDeps, sessionId: SessionId): AdminReply {
  if (deps.calls.find(sessionId) === null) return unknownSession(sessionId);
  const issued = deps.pageTickets.issue(sessionId);
  if (issued === null) return noTicket;
  const query = new URLSearchParams({ ticket: issued.ticket }).toString();
  const url = `${deps.opsOrigin()}/watch?${query}`;
  return { status: 200, body: { url, expires_at: formatTimestamp(issued.expiresAtMs) } };
}

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
    {
      path: '/watch/live',
      handle: (request) => withKey(deps, request, async (watched) => giveLive(deps, watched)),
    },
  ];
}

function openPage(deps: WatchDeps, ticket: string): ViewerAnswer {
  const sessionId = deps.pageTickets.take(ticket);
  const nonce = randomBytes(16).toString('base64url');
  if (sessionId === null)
    return pageAnswer(401, noWatchPage('This address is used up, or older than a minute.', nonce), { nonce });
  const call = deps.calls.find(sessionId);
  if (call === null) return pageAnswer(404, noWatchPage('This call has ended.', nonce), { nonce });
  const origins = [deps.mediaOrigin(sessionId), ...deps.mediaOrigins()];
  const media = [...new Set(origins.map((origin) => new URL(origin).origin))].join(' ');
  return pageAnswer(200, watchPage(call, deps.keys.issue(sessionId), nonce), { nonce, media });
}

async function withKey(
  { keys }: WatchDeps,
  { bearer }: ViewerRequest,
  answer: (watched: WatchedCall) => Promise<ViewerAnswer>,
): Promise<ViewerAnswer> {
  const watched = bearer === null ? null : keys.find(bearer);
  return watched === null ? jsonAnswer(401, { error: 'the key of an open page is needed' }) : answer(watched);
}

async function answerView(deps: WatchDeps, watched: WatchedCall): Promise<ViewerAnswer> {
  const described = await describeCarriedCall(deps, watched.sessionId);
  // It may have ended meanwhile.
  const body: WatchedCallJson = { ...described, end_reason: watched.endReason };
  return jsonAnswer(200, body);
}

/** A page has one ticket for each picture: by asking again and again it takes its own, and none from others. */
function givePictures(deps: WatchDeps, { key, sessionId }: WatchedCall): ViewerAnswer {
  if (deps.calls.find(sessionId) === null) return callEnded;
  const source = deps.tickets.issue(sessionId, `${key} source`);
  const output = deps.tickets.issue(sessionId, `${key} output`);
  if (source === null || output === null) return jsonAnswer(noTicket.status, noTicket.body);
  const origin = deps.mediaOrigin(sessionId);
  return jsonAnswer(200, {
    source: pictureLink(origin, source.ticket, 'source'),
    output: pictureLink(origin, output.ticket, 'output'),
  });
}

/** One ticket for both pictures and the sound, by WebRTC; a page has one of them, too. */
function giveLive(deps: WatchDeps, { key, sessionId }: WatchedCall): ViewerAnswer {
  if (deps.calls.find(sessionId) === null) return callEnded;
  const issued = deps.tickets.issue(sessionId, `${key} live`);
  if (issued === null) return jsonAnswer(noTicket.status, noTicket.body);
  return jsonAnswer(200, { link: liveLink(deps.mediaOrigin(sessionId), issued.ticket) });
}

interface PagePolicy {
  /** The nonce of the page's own script and style: no other runs. */
  readonly nonce: string;
  /** The origins of its pictures and its sound; left out: it has none. */
  readonly media?: string;
}

function pageAnswer(status: number, page: Html, { nonce, media }: PagePolicy): ViewerAnswer {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    `img-src ${media ?? "'none'"}`,
    `connect-src 'self'${media === undefined ? '' : ` ${media}`}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  const headers = { 'Content-Security-Policy': policy.join('; '), ...pageHeaders };
  return { status, contentType: 'text/html; charset=utf-8', body: page.text, headers };
}

function liveLink(origin: string, ticket: string): string {
  return `${origin}/media/v1/whep?${new URLSearchParams({ ticket }).toString()}`;
}

const callEnded = jsonAnswer(404, { error: 'the call has ended' });

const pageHeaders = { 'Referrer-Policy': 'no-referrer', 'X-Content-Type-Options': 'nosniff' };

function jsonAnswer(status: number, body: unknown): ViewerAnswer {
  const headers: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  return { status, contentType: 'application/json; charset=utf-8', body: JSON.stringify(body), headers };
}
