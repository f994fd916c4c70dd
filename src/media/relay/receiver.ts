/**
 * A receiver of a call's video: a leg, or a viewer, with the formats it takes as they are and the pictures that
 * are made of the others. Source: calls-and-media.md, Resolution.
 */
import type { Picture, PictureShape, VideoFrameFormat } from '../../model/picture.ts';
import { encodeFrameHeader } from '../../protocol/media/frame-header.ts';
import { standsAlone } from './media-queues.ts';
import type { SendQueue } from './send-queue.ts';
import { passedOn, type SourceVideo } from './source-video.ts';
import type { CallMedia } from '../../model/call.ts';
import type { SoundShape, UplinkWish } from '../../model/sound.ts';

export class Receiver {
  readonly kind: ReceiverKind;
  /** Not a viewer. */
  readonly isLeg: boolean;
  readonly sendQueue: SendQueue;
  /** The sound that it takes now: `any`: as it comes; null: none. */
  readonly hears: () => SoundShape | 'any' | null;
  /** By the media of the call; who watches may be there before it is known. */
  taking: VideoTaking;
  /** What its last video was; null: it has had none. */
  #last: 'passed' | 'shown' | null = null;

  constructor(
    { kind, isLeg, sendQueue, hears }: Pick<Receiver, 'kind' | 'isLeg' | 'sendQueue' | 'hears'>,
    taking: VideoTaking,
  ) {
    this.kind = kind;
    this.isLeg = isLeg;
    this.sendQueue = sendQueue;
    this.hears = hears;
    this.taking = taking;
  }

  passes(format: VideoFrameFormat): boolean {
    const { passes } = this.taking;
    return passes === 'all' || passes === format;
  }

  /** Null: none are made of this format for it. */
  shapeOf(format: VideoFrameFormat): PictureShape | null {
    return this.passes(format) ? null : this.taking.shape;
  }

  /** It is shown pictures, and is not passed what comes. */
  get isShown(): boolean {
    return this.#last === 'shown';
  }

  pass(source: SourceVideo): void {
    if (this.isShown && !standsAlone(source.format)) this.sendQueue.requireKey();
    this.#last = 'passed';
    this.sendQueue.offerVideo(passedOn(source, this.isLeg));
  }

  show({ format, isKey, size, bytes }: Picture, { header, place }: SourceVideo, isCounted: boolean): void {
    const { timestampMs } = header;
    // Others may have had the pictures that this one builds on.
    if (!this.isShown && !standsAlone(format)) this.sendQueue.requireKey();
    this.#last = 'shown';
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
      isCounted: isCounted && this.isLeg,
    });
  }
}

/**
 * `frames`: a leg that speaks the protocol; `pictures`: one that takes JPEGs alone, or a viewer of the output; `source`:
 * a viewer of the source.
 */
export type ReceiverKind = 'frames' | 'pictures' | 'source';

/** What a receiver takes of what is sent. Source: calls-and-media.md, Resolution. */
interface VideoTaking {
  /** What is passed on untouched. */
  readonly passes: VideoFrameFormat | 'all' | null;
  /** What is made of any other; null: nothing. */
  readonly shape: PictureShape | null;
}

type VideoTakings = Readonly<Record<ReceiverKind, VideoTaking>>;

const nothing: VideoTaking = { passes: null, shape: null };
const h264: VideoTaking = { passes: 'h264', shape: { mode: 'auto', screen: null, format: 'h264' } };
const everything: VideoTaking = { passes: 'all', shape: null };
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

/** Of the bridge, which may ask for H.264. */
export function uplinkTaking({ video }: UplinkWish): VideoTaking {
  return video === 'h264' ? h264 : everything;
}
