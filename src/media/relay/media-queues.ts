/**
 * Queues of media that waits for a leg or for the decoder, and their drop rules. Audio: the newest half second stays. Video: independent
 * frames are dropped one by one, oldest first; coded ones all together up to the next key frame, since each depends on the one before.
 * Source: calls-and-media.md, Legs.
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
  /** Always true for independent frames. */
  readonly isKey: boolean;
  /** False: data that a decoder needs before a key frame, such as parameter sets. */
  readonly isPicture: boolean;
  readonly payload: Uint8Array;
}

/** `no_key_frame`: the frame that it depends on was dropped. */
export type VideoQueueDrop = 'slow_leg' | 'no_key_frame';

/** A frame of this format depends on no other. */
export function standsAlone(format: VideoFrameFormat): boolean {
  return format === 'mjpeg' || format === 'i420';
}

export class VideoQueue<Video extends WaitingVideo> {
  readonly #dropped: (video: Video, why: VideoQueueDrop) => void;
  #waiting: Video[] = [];
  #pictures = 0;
  #codedBytes = 0;
  #lacksKey = false;

  /** `dropped` receives each frame that `shift` will never return. */
  constructor(dropped: (video: Video, why: VideoQueueDrop) => void) {
    this.#dropped = dropped;
  }

  /** Coded frames are dropped until a key frame arrives. */
  get lacksKey(): boolean {
    return this.#lacksKey;
  }

  get hasKey(): boolean {
    return this.#waiting.some(({ format, isKey }) => isKey && !standsAlone(format));
  }

  /** Another independent frame would evict the oldest; a coded frame made for it would only be late. */
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

  /** A coded frame was skipped: later ones cannot be used, queued ones can. */
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

  /** False: the queue was cleared, and this frame depends on it. */
  #makeRoomFor(video: Video): boolean {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ format }) => standsAlone(format));
    this.#codedBytes = 0;
    this.#lacksKey = true;
    for (const dropped of waiting) if (!standsAlone(dropped.format)) this.#dropped(dropped, 'slow_leg');
    return video.isKey || !video.isPicture;
  }
}

export interface WaitingAudio {
  /** 32 bits, wraps around. */
  readonly timestampMs: number;
  readonly payload: Uint8Array;
}

export class AudioQueue<Audio extends WaitingAudio> {
  readonly #dropped: (audio: Audio) => void;
  readonly #waiting: Audio[] = [];
  #bytes = 0;

  /** `dropped` receives each packet that `shift` will never return. */
  constructor(dropped: (audio: Audio) => void) {
    this.#dropped = dropped;
  }

  /** The newest packet is always kept, however large. */
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

/** A packet out of order is near as well; a jump in either direction is a new stream, which makes the old one stale. */
function isNear(oneMs: number, otherMs: number): boolean {
  return Math.abs((otherMs - oneMs) | 0) <= audioWaitingMsMax;
}
