/**
 * A receiver of a call's video: a leg, or a viewer, with the formats it takes as they are and the pictures that
 * are made of the others. Source: calls-and-media.md, Resolution.
 */
import type { Picture, PictureShape, VideoFrameFormat } from '../../model/media/picture.ts';
import { encodeFrameHeader } from '../../protocol/media/frame-header.ts';
import { standsAlone } from './media-queues.ts';
import type { CameraOutput, GoesWithout, SendQueue } from './send-queue.ts';
import { passedOn, type SourceVideo } from './source-video.ts';
import type { CallMedia } from '../../model/call.ts';
import type { SoundShape, UplinkWish } from '../../model/media/sound.ts';

export class Receiver {
  readonly kind: ReceiverKind;
  /** Not a viewer. */
  readonly isLeg: boolean;
  readonly sendQueue: SendQueue;
  /** The sound that it takes now: `any`: as it comes; null: none. */
  readonly hears: () => SoundShape | 'any' | null;
  /** Told each time that something is not made for it. */
  readonly goesWithout: GoesWithout | undefined;
  /** By the media of the call; who watches may be there before it is known. */
  taking: VideoTaking;
  /** What its last video was; null: it has had none. */
  #last: 'passed' | 'shown' | null = null;

  constructor(
    {
      kind,
      isLeg,
      sendQueue,
      hears,
      goesWithout,
    }: Pick<Receiver, 'kind' | 'isLeg' | 'sendQueue' | 'hears'> & Partial<Pick<Receiver, 'goesWithout'>>,
    taking: VideoTaking,
  ) {
    this.kind = kind;
    this.isLeg = isLeg;
    this.sendQueue = sendQueue;
    this.hears = hears;
    this.goesWithout = goesWithout;
    this.taking = taking;
  }

  passes(format: VideoFrameFormat): boolean {
    return this.taking(format) === 'untouched';
  }

  /** Null: none are made of this format for it. */
  shapeOf(format: VideoFrameFormat): PictureShape | null {
    const taken = this.taking(format);
    return taken === 'untouched' ? null : taken;
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
 * a viewer of the source. A live viewer takes H.264 as well: `live_source` is what is sent, `live_output` what the device
 * has, where that is not the same.
 */
export type ReceiverKind = 'frames' | 'pictures' | 'source' | 'live_source' | 'live_output';

/** What a receiver takes of a format: the frames as they are, pictures that are made of them, or nothing. Source: calls-and-media.md, Resolution. */
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

/** No media is known yet, or there is no video. */
export const nothingTaken: VideoTakings = {
  frames: nothing,
  pictures: nothing,
  source: nothing,
  live_source: nothing,
  live_output: nothing,
};

/** Receivers of the same pictures share the shape, the object itself. */
export function takingsOf({ downVideo, resolution, screen }: CallMedia): VideoTakings {
  if (downVideo === 'none') return nothingTaken;
  const watched = { source: ownSize, live_source: live };
  if (downVideo === 'h264') return { ...watched, frames: h264, pictures: ownSize, live_output: madeH264 };
  const fitted: PictureShape = { mode: resolution, screen };
  const shown = resolution === 'auto' ? ownSize : (): PictureShape => fitted;
  return { ...watched, frames: shown, pictures: shown, live_output: shown };
}

/** The receiver of a viewer that takes pictures of the device's camera now and then. */
export function cameraReceiver(out: CameraOutput, sendQueue: SendQueue): Receiver {
  return new Receiver({ kind: 'source', isLeg: false, sendQueue, hears: () => null }, (format) =>
    out.isTaken() ? ownSize(format) : null,
  );
}

/** Of the bridge, which may ask for H.264. */
export function uplinkTaking({ video }: UplinkWish): VideoTaking {
  return video === 'h264' ? h264 : everything;
}
