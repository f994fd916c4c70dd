/**
 * Call sessions on the ops listener: `GET /v1/calls` lists the live ones, with `device_id` those of one device; `POST
 * /v1/calls/end` ends one, `/v1/calls/ticket` lets one person watch it. No answer contains a room key, a token or a payload. An
 * answer waits for the commit of what it reports, within a limit.
 *
 * The media of a call: `GET /v1/calls/media` describes them, `POST /v1/calls/watch` returns the address of a page that shows them
 * to one person. A one-time ticket opens the page, since a browser cannot send a bearer token when it follows a link
 * (console/call-page.ts).
 */
import { type CallMedia, type CallSession, callEndReasons, type CallEndReason } from '../../model/call.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';
import { z } from 'zod';
import type { BridgePool } from '../../core/calls/bridge-pool.ts';
import type { WaitsFor } from '../../core/calls/offered-call.ts';
import type { CallDirectory } from '../../core/calls/call-directory.ts';
import { type Clock, completesWithin } from '../../lib/clock.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { roomOf, type MediaCapacity } from '../../model/media/media-capacity.ts';
import { callCommitMsMax } from '../../model/limits.ts';
import type { ViewerTickets } from '../../core/calls/viewers.ts';
import type { MediaAddress, MediaView, StreamView } from '../../protocol/media-link/media-values.ts';
import {
  type AdminAnswer,
  type AdminRefusal,
  type AdminRoute,
  changeRoute,
  readRoute,
  refuse,
} from '../ops/admin-route.ts';

export interface CallLegs {
  readonly device: boolean;
  readonly bridge: boolean;
}

/** The JSON of a live call session; it contains no secret that would admit anyone to the call. */
export type CallJson = ReturnType<typeof encodeCall>;

function describeCall({ calls, bridges }: Pick<CarriedCallDeps, 'calls' | 'bridges'>, session: CallSession) {
  const { sessionId } = session;
  const legs = { device: calls.hasDevice(sessionId), bridge: calls.hasBridge(sessionId) };
  return encodeCall(session, legs, bridges.waitsFor(sessionId));
}

export function encodeCall(session: CallSession, legs: CallLegs, waitsFor: WaitsFor | null) {
  return {
    session: session.sessionId,
    app_id: session.appId,
    device_id: session.deviceId,
    room_id: session.room.roomId,
    state: session.state,
    created_at: formatTimestamp(session.createdAtMs),
    expires_at: formatTimestamp(session.expiresAtMs),
    legs,
    // `load`, `engine`: it waits because its pictures could not be converted; null: it does not wait.
    waits_for: waitsFor,
    media: encodeMedia(session.media),
  };
}

function encodeMedia(media: CallMedia) {
  return {
    no_video: media.noVideo,
    up_video_mt: media.upVideo,
    down_video_mt: media.downVideo,
    down_video_rotation: media.rotation,
    screen_width: media.screen?.width ?? null,
    screen_height: media.screen?.height ?? null,
    video_res_mode: media.resolution,
    down_audio_mt: media.downAudio,
    audio_rate: media.audioRate,
    audio_channels: media.audioChannels,
  };
}

/** A one-time link with its ticket. `picture`: the source, sent by the bridge, or the output, sent to the device. Default: output. */
export function pictureLink(origin: string, ticket: string, picture?: 'source' | 'output'): string {
  const query = new URLSearchParams({ ticket, ...(picture !== undefined && { picture }) });
  return `${origin}/media/v1/downlink.mjpeg?${query.toString()}`;
}

export interface CallDeps {
  readonly clock: Clock;
  readonly calls: Pick<
    CallDirectory,
    'find' | 'sessionsOf' | 'sessions' | 'end' | 'hasDevice' | 'hasBridge' | 'committed'
  >;
  readonly bridges: Pick<BridgePool, 'waitsFor'>;
  readonly media: { capacity(): readonly MediaCapacity[] };
  readonly tickets: Pick<ViewerTickets, 'issue'>;
  /** The public origin of the call's media listener, such as `https://media.example:8083`. */
  mediaOrigin(sessionId: SessionId): string;
}

const shownDefault = 100;
const shownMax = 1000;

const session = z.string().min(1) as unknown as z.ZodType<SessionId>;
const listQuery = z.strictObject({
  device_id: (z.string().min(1) as unknown as z.ZodType<DeviceId>).optional(),
  limit: z.coerce.number().int().min(1).max(shownMax).default(shownDefault),
});
const endBody = z.strictObject({ session, reason: z.enum(callEndReasons).default('cancelled') });
const sessionNamed = z.strictObject({ session });

export function callRoutes(deps: CallDeps): AdminRoute[] {
  return [
    readRoute('/v1/calls', listQuery, (query) => list(deps, query)),
    readRoute('/v1/calls/capacity', z.strictObject({}), async () => answerCapacity(deps)),
    changeRoute('/v1/calls/end', endBody, (body) => end(deps, body.session, body.reason), {
      answered: { device_id: 'device_id', reason: 'reason' },
    }),
    // Tickets are issued to operators only and are audited: they show a stranger's face.
    changeRoute('/v1/calls/ticket', sessionNamed, async (body) => issueTicket(deps, body.session)),
  ];
}

async function list(
  { clock, calls, bridges }: CallDeps,
  query: z.output<typeof listQuery>,
): Promise<AdminAnswer> {
  const { device_id: deviceId, limit } = query;
  const found = deviceId === undefined ? firstOf(calls.sessions(), limit + 1) : calls.sessionsOf(deviceId);
  const shown = found.slice(0, limit);
  const encoded = shown.map((each) => describeCall({ calls, bridges }, each));
  const committing = shown.flatMap(({ deviceId: of }) => calls.committed(of) ?? []);
  await completesWithin(clock, callCommitMsMax, Promise.all(committing));
  return { calls: encoded, more: found.length > limit };
}

export type MediaProcessJson = ReturnType<typeof encodeProcess>;

/** `room`: the number of further calls it can take. */
function encodeProcess({ soundEncoders, ...capacity }: MediaCapacity) {
  return { ...capacity, sound_encoders: soundEncoders, room: roomOf(capacity) };
}

function answerCapacity({ media }: CallDeps): AdminAnswer {
  const processes = media.capacity().map(encodeProcess);
  return { processes, room: processes.reduce((sum, { room }) => sum + room, 0) };
}

function firstOf(sessions: Iterable<CallSession>, limit: number): CallSession[] {
  const first: CallSession[] = [];
  for (const each of sessions) {
    if (first.length === limit) break;
    first.push(each);
  }
  return first;
}

async function end(
  { clock, calls }: CallDeps,
  sessionId: SessionId,
  reason: CallEndReason,
): Promise<AdminAnswer> {
  const ended = calls.find(sessionId);
  if (ended === null || !calls.end(sessionId, reason)) return unknownSession(sessionId);
  const committing = Promise.resolve(calls.committed(ended.deviceId));
  if (await completesWithin(clock, callCommitMsMax, committing))
    return { session: sessionId, device_id: ended.deviceId, reason };
  return refuse(503, 'the call has ended, but the store has not committed that yet');
}

function issueTicket(deps: CallDeps, sessionId: SessionId): AdminAnswer {
  if (deps.calls.find(sessionId) === null) return unknownSession(sessionId);
  const issued = deps.tickets.issue(sessionId);
  if (issued === null) return noTicket;
  const { ticket, expiresAtMs } = issued;
  const url = pictureLink(deps.mediaOrigin(sessionId), ticket);
  return { ticket, url, expires_at: formatTimestamp(expiresAtMs) };
}

export const noTicket = refuse(503, 'the maximum number of tickets is in use: try again in a minute');

function unknownSession(sessionId: SessionId): AdminRefusal {
  return refuse(404, `no live call session ${JSON.stringify(sessionId)}`);
}

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
  return { call: describeCall({ calls, bridges }, session), view: view && encodeMediaView(view) };
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

export function callMediaRoutes(deps: CallMediaDeps): AdminRoute[] {
  return [
    readRoute('/v1/calls/media', sessionNamed, ({ session }) => describeMedia(deps, session)),
    changeRoute('/v1/calls/watch', sessionNamed, async (body) => openPage(deps, body.session)),
  ];
}

async function describeMedia(deps: CallMediaDeps, sessionId: SessionId): Promise<AdminAnswer> {
  const described = await describeCarriedCall(deps, sessionId);
  if (described === null) return unknownSession(sessionId);
  if (deps.media.address !== null) return described;
  return refuse(503, 'no media process is available: try again');
}

function openPage(deps: CallMediaDeps, sessionId: SessionId): AdminAnswer {
  if (deps.calls.find(sessionId) === null) return unknownSession(sessionId);
  const issued = deps.pageTickets.issue(sessionId);
  if (issued === null) return noTicket;
  const url = `${deps.opsOrigin()}/watch?${new URLSearchParams({ ticket: issued.ticket }).toString()}`;
  return { url, expires_at: formatTimestamp(issued.expiresAtMs) };
}
