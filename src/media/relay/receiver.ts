/**
 * A receiver of a call's video: a leg or a viewer, with the formats that it accepts as they are and the pictures made from others.
 * Source: calls-and-media.md, Resolution.
 */
import type { Picture, PictureShape, VideoFrameFormat } from '../../model/media/picture.ts';
import { encodeFrameHeader } from '../../protocol/media/frame-header.ts';
import { standsAlone } from './media-queues.ts';
import type { CameraOutput, MediaUnavailable, SendQueue } from './send-queue.ts';
import { passedOn, type SourceVideo } from './source-video.ts';
import type { CallMedia } from '../../model/call.ts';
import type { SoundShape, UplinkWish } from '../../model/media/sound.ts';

export class Receiver {
  readonly kind: ReceiverKind;
  readonly isLeg: boolean;
  readonly sendQueue: SendQueue;
  /** Sound that it accepts now; `any`: as sent; null: none. */
  readonly acceptedSound: () => SoundShape | 'any' | null;
  readonly mediaUnavailable: MediaUnavailable | undefined;
  /** Depends on the media of the call; a viewer may join before it is known. */
  taking: VideoTaking;
  /** Kind of its last video; null: none yet. */
  #last: 'passed' | 'shown' | null = null;

  constructor(
    {
      kind,
      isLeg,
      sendQueue,
      acceptedSound,
      mediaUnavailable,
    }: Pick<Receiver, 'kind' | 'isLeg' | 'sendQueue' | 'acceptedSound'> &
      Partial<Pick<Receiver, 'mediaUnavailable'>>,
    taking: VideoTaking,
  ) {
    this.kind = kind;
    this.isLeg = isLeg;
    this.sendQueue = sendQueue;
    this.acceptedSound = acceptedSound;
    this.mediaUnavailable = mediaUnavailable;
    this.taking = taking;
  }

  passes(format: VideoFrameFormat): boolean {
    return this.taking(format) === 'untouched';
  }

  shapeOf(format: VideoFrameFormat): PictureShape | null {
    const taken = this.taking(format);
    return taken === 'untouched' ? null : taken;
  }

  /** It receives pictures made for it, not the frames as sent. */
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
    // The pictures that this one depends on may have gone to others only.
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
 * `frames`: a leg that speaks the protocol; `pictures`: a leg or output viewer that accepts only JPEGs; `source`: a viewer of the
 * source. A live viewer also accepts H.264: `live_source` is the video as sent, `live_output` the device's, if that differs.
 */
export type ReceiverKind = 'frames' | 'pictures' | 'source' | 'live_source' | 'live_output';

/**
 * The form in which a receiver gets a format: frames untouched, pictures made from them, or nothing. Source: calls-and-media.md,
 * Resolution.
 */
export type VideoTaking = (format: VideoFrameFormat) => 'untouched' | PictureShape | null;

type VideoTakings = Readonly<Record<ReceiverKind, VideoTaking>>;

const asH264: PictureShape = { mode: 'auto', screen: null, format: 'h264' };
const asJpeg: PictureShape = { mode: 'auto', screen: null };

const nothing: VideoTaking = () => null;
const everything: VideoTaking = () => 'untouched';
const h264: VideoTaking = (format) => (format === 'h264' ? 'untouched' : asH264);
const ownSize: VideoTaking = (format) => (format === 'mjpeg' ? 'untouched' : asJpeg);
const live: VideoTaking = (format) => (format === 'h264' ? 'untouched' : ownSize(format));
const madeH264: VideoTaking = (format) => (format === 'h264' ? null : asH264);

export const nothingTaken: VideoTakings = {
  frames: nothing,
  pictures: nothing,
  source: nothing,
  live_source: nothing,
  live_output: nothing,
};

/** Receivers of the same pictures share one shape object. */
export function takingsOf({ downVideo, resolution, screen }: CallMedia): VideoTakings {
  if (downVideo === 'none') return nothingTaken;
  const watched = { source: ownSize, live_source: live };
  if (downVideo === 'h264') return { ...watched, frames: h264, pictures: ownSize, live_output: madeH264 };
  const fitted: PictureShape = { mode: resolution, screen };
  const shown = resolution === 'auto' ? ownSize : (): PictureShape => fitted;
  return { ...watched, frames: shown, pictures: shown, live_output: shown };
}

/** The receiver of a viewer that accepts pictures of the device's camera from time to time. */
export function cameraReceiver(out: CameraOutput, sendQueue: SendQueue): Receiver {
  return new Receiver({ kind: 'source', isLeg: false, sendQueue, acceptedSound: () => null }, (format) =>
    out.isTaken() ? ownSize(format) : null,
  );
}

export function uplinkTaking({ video }: UplinkWish): VideoTaking {
  return video === 'h264' ? h264 : everything;
}
