/**
 * Queues of media that waits for a leg, or for the decoder, and what they drop when too much does. Audio: the newest half
 * second stays. Video: frames that stand alone go one by one, oldest first; coded ones all together and up to the next key
 * frame, since each depends on the one before. Source: calls-and-media.md, Legs.
 */
import {
  codedBytesWaitingMax,
  codedFramesWaitingMax,
  picturesWaitingMax,
  audioBytesWaitingMax,
  audioPacketsWaitingMax,
  audioWaitingMsMax,
} from '../../model/limits.ts';
import type { VideoFrameFormat } from '../../model/media/picture.ts';

export interface WaitingVideo {
  readonly format: VideoFrameFormat;
  /** Of a frame that stands alone always true. */
  readonly isKey: boolean;
  /** False: what a decoder is told before a key frame that needs it, such as its parameter sets. */
  readonly isPicture: boolean;
  readonly payload: Uint8Array;
}

/** `no_key_frame`: what it leans on went before it. */
export type VideoQueueDrop = 'slow_leg' | 'no_key_frame';

/** Whether a frame of this format needs no other. */
export function standsAlone(format: VideoFrameFormat): boolean {
  return format === 'mjpeg' || format === 'i420';
}

export class VideoQueue<Video extends WaitingVideo> {
  readonly #dropped: (video: Video, why: VideoQueueDrop) => void;
  /** In the order they came. */
  #waiting: Video[] = [];
  #pictures = 0;
  #codedBytes = 0;
  #lacksKey = false;

  /** `dropped` is told each frame that `shift` will never give. */
  constructor(dropped: (video: Video, why: VideoQueueDrop) => void) {
    this.#dropped = dropped;
  }

  /** Nothing coded is taken before a key frame. */
  get lacksKey(): boolean {
    return this.#lacksKey;
  }

  /** Coded video waits that can be begun with. */
  get hasKey(): boolean {
    return this.#waiting.some(({ format, isKey }) => isKey && !standsAlone(format));
  }

  /** Another frame that stands alone would push the oldest out; a coded one, made for it, would only be late. */
  get hasPicturesEnough(): boolean {
    return this.#waiting.length >= picturesWaitingMax;
  }

  push(video: Video): void {
    if (standsAlone(video.format)) this.#pushPicture(video);
    else this.#pushCoded(video);
  }

  shift(): Video | undefined {
    const video = this.#waiting.shift();
    if (video === undefined) return undefined;
    if (standsAlone(video.format)) this.#pictures -= 1;
    else this.#codedBytes -= video.payload.length;
    return video;
  }

  /** A coded frame went by: what comes behind it cannot be used, what waits can. */
  requireKey(): void {
    this.#lacksKey = true;
  }

  #pushPicture(video: Video): void {
    if (this.#pictures >= picturesWaitingMax) this.#dropOldestPicture();
    this.#waiting.push(video);
    this.#pictures += 1;
  }

  #dropOldestPicture(): void {
    const [oldest] = this.#waiting.splice(
      this.#waiting.findIndex(({ format }) => standsAlone(format)),
      1,
    );
    if (oldest === undefined) return;
    this.#pictures -= 1;
    this.#dropped(oldest, 'slow_leg');
  }

  #pushCoded(video: Video): void {
    if (this.#lacksKey && !video.isKey && video.isPicture) return this.#dropped(video, 'no_key_frame');
    if (this.#wouldOverflow(video) && !this.#makeRoomFor(video)) return this.#dropped(video, 'slow_leg');
    if (video.isKey) this.#lacksKey = false;
    this.#waiting.push(video);
    this.#codedBytes += video.payload.length;
  }

  #wouldOverflow(video: Video): boolean {
    return (
      this.#waiting.length - this.#pictures >= codedFramesWaitingMax ||
      this.#codedBytes + video.payload.length > codedBytesWaitingMax
    );
  }

  /** False: what waited is gone, and this one leans on it. */
  #makeRoomFor(video: Video): boolean {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ format }) => standsAlone(format));
    this.#codedBytes = 0;
    this.#lacksKey = true;
    for (const gone of waiting) if (!standsAlone(gone.format)) this.#dropped(gone, 'slow_leg');
    return video.isKey || !video.isPicture;
  }
}

export interface WaitingAudio {
  /** 32 bits: it starts again at 0. */
  readonly timestampMs: number;
  readonly payload: Uint8Array;
}

export class AudioQueue<Audio extends WaitingAudio> {
  readonly #dropped: (audio: Audio) => void;
  readonly #waiting: Audio[] = [];
  #bytes = 0;

  /** `dropped` is told each packet that `shift` will never give. */
  constructor(dropped: (audio: Audio) => void) {
    this.#dropped = dropped;
  }

  /** The newest is always kept, however large. */
  push(audio: Audio): void {
    while (this.#waiting.length > 0 && !this.#hasRoomFor(audio)) {
      const oldest = this.shift();
      if (oldest !== undefined) this.#dropped(oldest);
    }
    this.#waiting.push(audio);
    this.#bytes += audio.payload.length;
  }

  shift(): Audio | undefined {
    const audio = this.#waiting.shift();
    if (audio !== undefined) this.#bytes -= audio.payload.length;
    return audio;
  }

  #hasRoomFor({ timestampMs, payload }: Audio): boolean {
    return (
      this.#waiting.length < audioPacketsWaitingMax &&
      this.#bytes + payload.length <= audioBytesWaitingMax &&
      this.#waiting.every((audio) => isNear(audio.timestampMs, timestampMs))
    );
  }
}

/** A packet out of turn is near, too; a jump, forwards or back, is another stream, beside which the old one is stale. */
function isNear(oneMs: number, otherMs: number): boolean {
  return Math.abs((otherMs - oneMs) | 0) <= audioWaitingMsMax;
}
