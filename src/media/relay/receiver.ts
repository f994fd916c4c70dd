/**
 * A receiver of a call's downlink: its device, or a viewer, with the formats it takes as they are and the pictures that
 * are made of the others. Source: calls-and-media.md, Resolution.
 */
import type { Picture, PictureShape, VideoFrameFormat } from '../../model/picture.ts';
import { encodeFrameHeader } from '../../protocol/media/frame-header.ts';
import type { SendQueue } from './send-queue.ts';
import { passedOn, type SourceVideo } from './source-video.ts';
import type { CallMedia } from '../../model/call.ts';

export class Receiver {
  readonly kind: ReceiverKind;
  readonly isDevice: boolean;
  readonly sendQueue: SendQueue;
  /** By the media of the call; who watches may be there before it is known. */
  taking: VideoTaking;

  constructor(kind: ReceiverKind, isDevice: boolean, sendQueue: SendQueue, taking: VideoTaking) {
    this.kind = kind;
    this.isDevice = isDevice;
    this.sendQueue = sendQueue;
    this.taking = taking;
  }

  passes(format: VideoFrameFormat): boolean {
    return this.taking.passes === format;
  }

  /** Null: none are made of this format for it. */
  shapeOf(format: VideoFrameFormat): PictureShape | null {
    return this.passes(format) ? null : this.taking.shape;
  }

  pass(source: SourceVideo): void {
    this.sendQueue.offerVideo(passedOn(source, this.isDevice));
  }

  show({ format, isKey, size, bytes }: Picture, { header, place }: SourceVideo, isCounted: boolean): void {
    const { timestampMs } = header;
    this.sendQueue.offerVideo({
      kind: 'video',
      format,
      isKey,
      isPicture: true,
      header: encodeFrameHeader({ kind: 'video', format, isKeyFrame: isKey, ...size, timestampMs }),
      payload: bytes,
      place,
      size,
      done: 'encoded',
      isCounted: isCounted && this.isDevice,
    });
  }
}

/**
 * `frames`: a device that speaks the protocol; `pictures`: one that takes JPEGs alone, or a viewer of the output; `source`:
 * a viewer of the source.
 */
export type ReceiverKind = 'frames' | 'pictures' | 'source';

/** What a receiver takes of the bridge's video. Source: calls-and-media.md, Resolution. */
interface VideoTaking {
  /** What is passed on untouched. */
  readonly passes: VideoFrameFormat | null;
  /** What is made of any other; null: nothing. */
  readonly shape: PictureShape | null;
}

type VideoTakings = Readonly<Record<ReceiverKind, VideoTaking>>;

const nothing: VideoTaking = { passes: null, shape: null };
const h264: VideoTaking = { passes: 'h264', shape: null };
const ownSize: VideoTaking = { passes: 'mjpeg', shape: { mode: 'auto', screen: null } };

/** No media is known yet, or there is no video. */
export const nothingTaken: VideoTakings = { frames: nothing, pictures: nothing, source: nothing };

/** Receivers of the same pictures share the shape, the object itself. */
export function takingsOf({ downVideo, resolution, screen }: CallMedia): VideoTakings {
  if (downVideo === 'none') return nothingTaken;
  if (downVideo === 'h264') return { frames: h264, pictures: ownSize, source: ownSize };
  if (resolution === 'auto') return { frames: ownSize, pictures: ownSize, source: ownSize };
  const fitted: VideoTaking = { passes: null, shape: { mode: resolution, screen } };
  return { frames: fitted, pictures: fitted, source: ownSize };
}
