/**
 * A leg by WebRTC, of a device or a viewer, as far as both are alike: its connection, its side of the call and its place in the relay,
 * which it gives up together, once. Source: calls-and-media.md, Legs.
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
  /** Called once, when it is gone, whoever ended it; never if it was not opened. */
  readonly ended: () => void;
}

interface Opened<Side> {
  readonly peer: RtcPeer;
  readonly side: Side;
  readonly joined: JoinedLeg;
}

export abstract class OpenRtcLeg<Admission, Side extends OpenViewer> implements LegConnection {
  protected readonly deps: RtcLegDeps<Admission>;
  /** Null: not yet, or no more. */
  protected opened: Opened<Side> | null = null;
  /** It was open, or was closed before it could be; it is not opened any more. */
  protected isClosed = false;

  constructor(deps: RtcLegDeps<Admission>) {
    this.deps = deps;
  }

  abstract heartbeat(): void;

  /** Its side of the call knows already. */
  close(): void {
    this.#leave()?.peer.close();
  }

  drop(): void {
    this.close();
  }

  gone(why: string, trouble?: RtcTrouble): void {
    if (trouble !== undefined) this.deps.context.report(trouble, why);
    this.end();
  }

  /** From here, or by its client. */
  protected end(): void {
    const left = this.#leave();
    left?.peer.close();
    left?.side.disconnected();
  }

  protected begin(opened: Opened<Side>): void {
    this.opened = opened;
    this.deps.context.rtcLegs.add(this.deps.owner, this);
  }

  /** Null: it was not open, or has left before. */
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

/** Of a message that the relay made, or has read before. */
export function readHeader(header: Uint8Array, payload: Uint8Array): FrameHeader | null {
  const decoded = decodeFrameHeader(Buffer.concat([header, payload.subarray(0, 1)]));
  return decoded.ok ? decoded.value : null;
}
