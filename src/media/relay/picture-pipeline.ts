/**
 * The path of a session's frames through its transcoder: one at a time, in order, with a bounded queue. The pictures to make are decided
 * when a frame is next, so that none is made for a receiver that cannot accept it. Source: calls-and-media.md, Legs and Resolution.
 */
import type { Clock } from '../../lib/clock.ts';
import {
  fullBucket,
  spendTokens,
  waitForToken,
  type Rate,
  type TokenBucket,
} from '../../lib/token-bucket.ts';
import { keyFrameAskMsMin } from '../../model/limits.ts';
import { pictureBurstMs, pictureShareMax } from '../../model/media/decoding-limits.ts';
import type { FrameResult, PictureShape, SourceFrame, VideoFrameFormat } from '../../model/media/picture.ts';
import type { Transcoder } from '../transcoding/transcoder-session.ts';
import { FramePace } from '../geometry/frame-pace.ts';
import type { SourceVideo } from './source-video.ts';
import { standsAlone, VideoQueue, type VideoQueueDrop, type WaitingVideo } from './media-queues.ts';

export interface PictureSource extends WaitingVideo {
  readonly source: SourceVideo;
  /** Transferred to the transcoder. */
  readonly payload: Uint8Array<ArrayBuffer>;
  /** Above the frame rate: only decoded, for the frames that depend on it. */
  readonly isPaced: boolean;
  /** Its result here is the result of the frame. */
  readonly isCounted: boolean;
}

/** `slow_leg`: also if no receiver had room when its turn came. */
export type UnpicturedReason = VideoQueueDrop | 'paced' | 'no_receiver' | 'load';

export interface PictureAudience {
  /** The pictures that receivers have room for now, without duplicates. */
  shapesWanted(format: VideoFrameFormat): readonly PictureShape[];
  /** `result.pictures` are in the order of `shapes`. */
  pictured(frame: PictureSource, shapes: readonly PictureShape[], result: FrameResult): void;
  /** The frame was not decoded. Each frame gets either this call or `pictured`, once. */
  unpictured(frame: PictureSource, why: UnpicturedReason): void;
  /** No coded frame is decoded before a key frame. */
  wantKeyFrame(): void;
  /** A frame exceeded its worker's time, whatever its result. */
  overdue(): void;
}

/** Milliseconds of worker time. */
const work: Rate = { perSecond: pictureShareMax * 1000, burst: pictureBurstMs };

interface PipelineOptions {
  readonly clock: Clock;
  readonly maxFps: number;
}

const noShapes: readonly PictureShape[] = [];

export class PicturePipeline {
  readonly #transcoder: Transcoder;
  readonly #audience: PictureAudience;
  readonly #pace: FramePace;
  readonly #waiting: VideoQueue<PictureSource>;
  readonly #clock: Clock;
  readonly #work: TokenBucket;
  #stage: 'free' | 'working' | 'closed' = 'free';
  #isKeyDue = false;
  #keyMadeMs = Number.NEGATIVE_INFINITY;

  /** Owns the transcoder and closes it. */
  constructor(transcoder: Transcoder, audience: PictureAudience, { maxFps, clock }: PipelineOptions) {
    this.#clock = clock;
    this.#work = fullBucket(work, clock.monotonicMs());
    this.#transcoder = transcoder;
    this.#audience = audience;
    this.#pace = new FramePace(maxFps);
    this.#waiting = new VideoQueue((frame, why) => audience.unpictured(frame, why));
    this.#waiting.requireKey();
  }

  /** `isPassedOn`: the payload is shared with other receivers. */
  enqueue(source: SourceVideo, isPassedOn: boolean, isCounted: boolean): void {
    const { format, isKey, isPicture } = source;
    const payload = isPassedOn ? new Uint8Array(source.payload) : source.payload;
    const isPaced = isPicture && !this.#pace.admits(source.header.timestampMs);
    const frame: PictureSource = { format, isKey, isPicture, payload, source, isPaced, isCounted };
    if (isPaced && standsAlone(format)) return this.#audience.unpictured(frame, 'paced');
    if (this.#isBeyondItsShare) {
      this.#waiting.requireKey();
      return this.#audience.unpictured(frame, 'load');
    }
    this.#waiting.push(frame);
    if (this.#waiting.lacksKey) this.#audience.wantKeyFrame();
    this.#processNext();
  }

  /** A coded frame was not decoded, or another stream begins. */
  requireKey(): void {
    this.#waiting.requireKey();
  }

  /** A receiver cannot continue: the next pictures, or those in 500 ms, must be key frames. */
  makeKey(): void {
    this.#isKeyDue = true;
  }

  close(): void {
    this.#stage = 'closed';
    for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift())
      this.#audience.unpictured(frame, 'no_receiver');
    this.#transcoder.close();
  }

  #processNext(): void {
    while (this.#stage === 'free') {
      const frame = this.#waiting.shift();
      if (frame === undefined) return;
      const shapes = frame.isPaced ? noShapes : this.#audience.shapesWanted(frame.format);
      if (shapes.length === 0 && standsAlone(frame.format)) this.#audience.unpictured(frame, 'slow_leg');
      else void this.#transcode(frame, shapes);
    }
  }

  async #transcode(frame: PictureSource, shapes: readonly PictureShape[]): Promise<void> {
    this.#stage = 'working';
    const nowMs = this.#clock.monotonicMs();
    const isKeyWanted = this.#isKeyDue && nowMs - this.#keyMadeMs >= keyFrameAskMsMin;
    if (isKeyWanted) this.#isKeyDue = false;
    const { description } = frame.source;
    const result = await this.#transcoder.transcode(sourceFrame(frame), shapes, description, isKeyWanted);
    spendTokens(this.#work, result.workMs);
    if (result.drop === 'overdue') this.#audience.overdue();
    if (result.pictures.every((picture) => typeof picture === 'string')) this.#isKeyDue ||= isKeyWanted;
    else if (isKeyWanted) this.#keyMadeMs = nowMs;
    if (this.#isClosed) return this.#audience.unpictured(frame, 'no_receiver');
    this.#stage = 'free';
    if (result.keyFrameWanted && !this.#waiting.hasKey) this.#audience.wantKeyFrame();
    this.#audience.pictured(frame, shapes, result);
    this.#processNext();
  }

  /** It has used more than its share of its worker's time while the calls there need more than there is. */
  get #isBeyondItsShare(): boolean {
    const waitMs = waitForToken(this.#work, work, this.#clock.monotonicMs());
    return waitMs > 0 && !this.#transcoder.hasTimeToSpare;
  }

  get #isClosed(): boolean {
    return this.#stage === 'closed';
  }
}

function sourceFrame({ source: { header }, payload }: PictureSource): SourceFrame {
  const { format, isKeyFrame, width, height } = header;
  return { format, isKeyFrame, width, height, payload };
}
