/**
 * The media of a call on the ops listener: `GET /v1/calls/media` describes them, `POST /v1/calls/watch` returns the address of a
 * page that shows them to one person. A one-time ticket opens the page, since a browser cannot send a bearer token when it
 * follows a link (console/call-page.ts).
 */
import { z } from 'zod';
import type { BridgePool } from '../../core/calls/bridge-pool.ts';
import type { CallDirectory } from '../../core/calls/call-directory.ts';
import type { ViewerTickets } from '../../core/calls/viewers.ts';
import type { SessionId } from '../../model/ids.ts';
import type { MediaAddress, MediaView, StreamView } from '../../protocol/media-link/media-values.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';
import { type AdminAnswer, type AdminRoute, changeRoute, readRoute, refuse } from '../ops/admin-route.ts';
import { encodeCall, type CallJson, noTicket, unknownSession } from './call-routes.ts';

export interface CarriedCallDeps {
  readonly calls: Pick<CallDirectory, 'find' | 'hasDevice' | 'hasBridge'>;
  readonly bridges: Pick<BridgePool, 'waitsFor'>;
  readonly media: MediaProcess;
}

export interface CallMediaDeps extends CarriedCallDeps {
  /** Tickets of pages are separate from tickets of pictures, so that none opens a picture. */
  readonly pageTickets: Pick<ViewerTickets, 'issue'>;
  opsOrigin(): string;
}

interface MediaProcess {
  /** Null: there is none, or it does not listen yet. */
  readonly address: MediaAddress | null;
  view(session: SessionId): Promise<MediaView | null>;
}

export interface CarriedCallJson {
  readonly call: CallJson;
  /** Null: no leg of the call has connected to the media process yet, or the process does not answer. */
  readonly view: MediaViewJson | null;
}

/** Null: no such live session. */
export async function describeCarriedCall(
  { calls, bridges, media }: CarriedCallDeps,
  sessionId: SessionId,
): Promise<CarriedCallJson | null> {
  const view = await media.view(sessionId);
  const session = calls.find(sessionId);
  if (session === null) return null;
  const legs = { device: calls.hasDevice(sessionId), bridge: calls.hasBridge(sessionId) };
  const call = encodeCall(session, legs, bridges.waitsFor(sessionId));
  return { call, view: view === null ? null : encodeMediaView(view) };
}

export type MediaViewJson = ReturnType<typeof encodeMediaView>;

function encodeMediaView(view: MediaView) {
  return {
    mode: view.mode,
    device: view.hasDevice,
    bridge: view.hasBridge,
    viewers: view.viewers,
    source: encodeStream(view.source),
    output: encodeStream(view.output),
    // Video from the device.
    camera: encodeStream(view.camera),
    // Counts by result.
    frames: view.frames,
    rebuilds: view.rebuilds,
    key_frames_asked: view.keyFramesAsked,
    frame_ms: view.frameMs,
    work_ms: view.workMs,
  };
}

export type StreamViewJson = NonNullable<ReturnType<typeof encodeStream>>;

function encodeStream(stream: StreamView | null) {
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

export function callMediaRoutes(deps: CallMediaDeps): AdminRoute[] {
  return [
    readRoute('/v1/calls/media', asked, ({ session }) => describe(deps, session)),
    changeRoute('/v1/calls/watch', asked, async ({ session }) => handOut(deps, session)),
  ];
}

async function describe(deps: CallMediaDeps, sessionId: SessionId): Promise<AdminAnswer> {
  const described = await describeCarriedCall(deps, sessionId);
  if (described === null) return unknownSession(sessionId);
  if (deps.media.address !== null) return described;
  return refuse(503, 'no media process is available: try again');
}

function handOut(deps: CallMediaDeps, sessionId: SessionId): AdminAnswer {
  if (deps.calls.find(sessionId) === null) return unknownSession(sessionId);
  const issued = deps.pageTickets.issue(sessionId);
  if (issued === null) return noTicket;
  const query = new URLSearchParams({ ticket: issued.ticket }).toString();
  const url = `${deps.opsOrigin()}/watch?${query}`;
  return { url, expires_at: formatTimestamp(issued.expiresAtMs) };
}
