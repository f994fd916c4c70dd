/** Who is sent a call's downlink: its device, or somebody who watches. */
import type { Picture, PictureShape, VideoFrameFormat } from '../../model/picture.ts';
import { encodeFrameHeader } from '../../protocol/media/frame-header.ts';
import type { SendQueue } from './send-queue.ts';
import { passedOn, type SourceVideo } from './source-video.ts';
import type { ReceiverKind, VideoTaking } from './video-taking.ts';

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

  show({ jpeg, size }: Picture, { header, place }: SourceVideo, isCounted: boolean): void {
    const { timestampMs } = header;
    this.sendQueue.offerVideo({
      kind: 'video',
      format: 'mjpeg',
      isKey: true,
      isPicture: true,
      header: encodeFrameHeader({ kind: 'video', format: 'mjpeg', isKeyFrame: true, ...size, timestampMs }),
      payload: jpeg,
      place,
      size,
      done: 'encoded',
      isCounted: isCounted && this.isDevice,
    });
  }
}
