/**
 * The two directions of a call's media: the downlink from the bridge to the device and to viewers, the uplink from the
 * device to the bridge. Source: calls-and-media.md, Legs.
 */
import { asItComes } from '../../model/sound.ts';
import type { AudioFrameHeader, FrameHeader } from '../../protocol/media/frame-header.ts';
import type { FrameTally } from './session-stats.ts';
import type { KeyFrameRequest } from './source-video.ts';
import { VideoDirection } from './video-direction.ts';
import type { ReservationDeps } from './transcoder-reservation.ts';

abstract class Direction {
  readonly video: VideoDirection;
  protected readonly tally: FrameTally;

  /** `wantKeyFrame`: of the leg that sends. */
  constructor(deps: ReservationDeps, tally: FrameTally, wantKeyFrame: () => void) {
    this.video = new VideoDirection(deps, tally, wantKeyFrame);
    this.tally = tally;
  }

  /** `keyFrames`: by which the leg that sends is asked for some. */
  take(
    keyFrames: KeyFrameRequest,
    header: FrameHeader,
    payload: Uint8Array<ArrayBuffer>,
    headerBytes: Uint8Array,
  ): void {
    if (header.kind === 'video') this.video.take(keyFrames, header, payload, headerBytes);
    else this.takeAudio(header, payload, headerBytes);
  }

  protected abstract takeAudio(header: AudioFrameHeader, payload: Uint8Array, headerBytes: Uint8Array): void;
}

export class Downlink extends Direction {
  protected override takeAudio(
    { timestampMs }: AudioFrameHeader,
    payload: Uint8Array,
    headerBytes: Uint8Array,
  ): void {
    const device = this.video.leg;
    if (device?.kind === 'frames') device.sendQueue.offerAudio(timestampMs, payload, headerBytes);
    else this.tally.frame(device === null ? 'no_receiver' : 'unsupported');
  }
}

export class Uplink extends Direction {
  /** Of the bridge that is there. */
  wish = asItComes;

  protected override takeAudio(
    { timestampMs }: AudioFrameHeader,
    payload: Uint8Array,
    headerBytes: Uint8Array,
  ): void {
    const bridge = this.video.leg;
    if (bridge === null) this.tally.frame('no_receiver');
    else bridge.sendQueue.offerAudio(timestampMs, payload, headerBytes);
  }
}
