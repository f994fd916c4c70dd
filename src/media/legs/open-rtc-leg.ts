/**
 * A WebRTC leg of a device or a viewer, with the parts common to both: its connection, its side of the call and its place in the relay,
 * which it releases together, once. Source: calls-and-media.md, Legs.
 */
import { decodeFrameHeader, type FrameHeader } from '../../protocol/media/frame-header.ts';
import type { LegService, OpenViewer } from '../../core/ports/leg-service.ts';
import type { JoinedLeg } from '../relay/send-queue.ts';
import type { RtcPeer, RtcTrouble } from '../webrtc/rtc-peer.ts';
import type { LegConnection, LegOwner, MediaListenerContext } from './listener-context.ts';

export interface RtcLegDeps<Admission> {
  readonly admission: Admission;
  readonly service: LegService;
  readonly context: MediaListenerContext;
  readonly owner: LegOwner;
  /** Called once, when an opened leg has ended, on either side. */
  readonly ended: () => void;
}

interface Opened<Side> {
  readonly peer: RtcPeer;
  readonly side: Side;
  readonly joined: JoinedLeg;
}

export abstract class OpenRtcLeg<Admission, Side extends OpenViewer> implements LegConnection {
  protected readonly deps: RtcLegDeps<Admission>;
  /** Null: not opened yet, or closed. */
  protected opened: Opened<Side> | null = null;
  /** Set by the first close; the leg is never opened afterwards. */
  protected isClosed = false;

  constructor(deps: RtcLegDeps<Admission>) {
    this.deps = deps;
  }

  abstract heartbeat(): void;

  /** The leg service already knows. */
  close(): void {
    this.#leave()?.peer.close();
  }

  drop(): void {
    this.close();
  }

  closed(why: string, trouble?: RtcTrouble): void {
    if (trouble !== undefined) this.deps.context.report(trouble, why);
    this.end();
  }

  protected end(): void {
    const left = this.#leave();
    left?.peer.close();
    left?.side.disconnected();
  }

  protected begin(opened: Opened<Side>): void {
    this.opened = opened;
    this.deps.context.rtcLegs.add(this.deps.owner, this);
  }

  #leave(): Opened<Side> | null {
    const { opened } = this;
    this.isClosed = true;
    this.opened = null;
    if (opened === null) return null;
    opened.joined.leave();
    this.deps.context.rtcLegs.delete(this.deps.owner, this);
    this.deps.context.rtcLegLeft();
    this.deps.ended();
    return opened;
  }
}

export function readHeader(header: Uint8Array, payload: Uint8Array): FrameHeader | null {
  const decoded = decodeFrameHeader(Buffer.concat([header, payload.subarray(0, 1)]));
  return decoded.ok ? decoded.value : null;
}
