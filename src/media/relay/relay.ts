/**
 * Carries the frames of calls between their legs: a room for each session, kept while a leg or a viewer is in it. Who may
 * come in is settled before; what they send is the downlink's and the uplink's. Source: calls-and-media.md, Legs and
 * Resolution.
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

  /** Sessions with a leg or a viewer. */
  get sessionCount(): number {
    return this.#rooms.size;
  }

  /** Why nobody could carry this call for a leg that takes these; null: somebody can. Nothing is reserved. */
  refusalOf(sessionId: SessionId, media: CallMedia, takes: DeviceOutput['takes']): ReservationRefusal | null {
    return (this.#rooms.get(sessionId) ?? this.#newRoom(sessionId)).refusalOf(media, takes);
  }

  /** Takes the place of the device that is there. A call whose downlink is pictures is refused where none can be made. */
  joinDevice(sessionId: SessionId, media: CallMedia, out: DeviceOutput, application = ''): Joining {
    const room = this.#enter(sessionId);
    room.application = application;
    return room.joinDevice(media, out);
  }

  /** Takes the place of the bridge that is there. Refused as above. */
  joinBridge(sessionId: SessionId, media: CallMedia, out: LegOutput): Joining {
    return this.#enter(sessionId).joinBridge(media, out);
  }

  /** `output`: what the device is shown, or would be; `source`: what the bridge sends, at its own size. */
  watch(sessionId: SessionId, what: 'output' | 'source', out: PictureOutput): Joining {
    return this.#enter(sessionId).watch(what, out);
  }

  /** Both by one viewer, and H.264 as it is; and pictures of the device's camera. */
  watchLive(sessionId: SessionId, out: LiveOutput): JoinedLeg {
    return this.#enter(sessionId).watchLive(out);
  }

  /** Null: no leg is in it. */
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
