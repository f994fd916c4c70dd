/**
 * Carries the frames of calls between their legs: one room per session, kept while it has a leg or a viewer. Admission is decided
 * before. Source: calls-and-media.md, Legs and Resolution.
 */
import type { Result } from '../../lib/result.ts';
import type { CallMedia } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { MediaView } from '../../protocol/media-link/media-values.ts';
import type { DeviceOutput, JoinedLeg, LegOutput, LiveOutput, PictureOutput } from './send-queue.ts';
import { OverdueFrames } from './overdue-frames.ts';
import { type RelayDeps, Room } from './room.ts';

type Joining = Result<JoinedLeg, ReservationRefusal>;

export class Relay {
  readonly #deps: RelayDeps;
  readonly #overdue: OverdueFrames;
  readonly #rooms = new Map<SessionId, Room>();

  constructor(deps: RelayDeps) {
    this.#deps = deps;
    this.#overdue = new OverdueFrames(deps.clock);
  }

  get sessionCount(): number {
    return this.#rooms.size;
  }

  /** Reason that this call could not be carried for a leg that accepts `takes`; null: it could be. Reserves nothing. */
  refusalOf(sessionId: SessionId, media: CallMedia, takes: DeviceOutput['takes']): ReservationRefusal | null {
    return (this.#rooms.get(sessionId) ?? this.#newRoom(sessionId)).refusalOf(media, takes);
  }

  /** Replaces the present device. Refuses a call whose downlink needs pictures that cannot be made. */
  joinDevice(sessionId: SessionId, media: CallMedia, out: DeviceOutput, application = ''): Joining {
    const room = this.#enter(sessionId);
    room.application = application;
    return room.joinDevice(media, out);
  }

  /** Replaces the present bridge. Refuses as above. */
  joinBridge(sessionId: SessionId, media: CallMedia, out: LegOutput): Joining {
    return this.#enter(sessionId).joinBridge(media, out);
  }

  /** `output`: the video that the device receives, or would receive; `source`: the bridge's video, at its own size. */
  watch(sessionId: SessionId, what: 'output' | 'source', out: PictureOutput): Joining {
    return this.#enter(sessionId).watch(what, out);
  }

  /** Both videos in one viewer, H.264 untouched, and pictures of the device's camera. */
  watchLive(sessionId: SessionId, out: LiveOutput): JoinedLeg {
    return this.#enter(sessionId).watchLive(out);
  }

  view(sessionId: SessionId): MediaView | null {
    return this.#rooms.get(sessionId)?.view() ?? null;
  }

  #enter(sessionId: SessionId): Room {
    const room = this.#rooms.get(sessionId) ?? this.#newRoom(sessionId);
    this.#rooms.set(sessionId, room);
    return room;
  }

  #newRoom(sessionId: SessionId): Room {
    const overdue = this.#overdue.of(sessionId, () => room.application);
    const room: Room = new Room({ ...this.#deps, overdue }, () => this.#rooms.delete(sessionId));
    return room;
  }
}
