/**
 * The video of a leg as it comes in: each frame with what the relay has to know of it, and the request for a key frame.
 * Source: calls-and-media.md, Legs and Resolution.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { Size } from '../../model/call.ts';
import type { FrameDescription } from '../../model/media/picture.ts';
import type { VideoFrameHeader } from '../../protocol/media/frame-header.ts';
import { describeFrame } from '../geometry/source-frame.ts';
import type { OutgoingVideo } from './send-queue.ts';
import { type WaitingVideo, standsAlone } from './media-queues.ts';
import { keyFrameAskMsMin } from '../../model/limits.ts';

export interface SourceVideo extends WaitingVideo {
  readonly header: VideoFrameHeader;
  readonly headerBytes: Uint8Array;
  readonly payload: Uint8Array<ArrayBuffer>;
  /** By the payload alone. */
  readonly description: FrameDescription;
  /** Null: as of the frames before it, as far as is known. */
  readonly size: Size | null;
  /** Among the frames of its direction, ascending. */
  readonly place: number;
  /** Monotonic. */
  readonly cameAtMs: number;
}

/** Reads the video of one direction. */
export class SourceReader {
  readonly #clock: Clock;
  #frames = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * A key frame is one that its header calls so, or whose payload is one: what is passed on need not be readable here,
   * and a sender that sets no flags is understood.
   */
  read(header: VideoFrameHeader, payload: Uint8Array<ArrayBuffer>, headerBytes: Uint8Array): SourceVideo {
    const { format, isKeyFrame, width, height } = header;
    const description = describeFrame({ format, isKeyFrame, width, height, payload });
    const isKey = isKeyFrame || description.isKey;
    const isPicture = description.content !== 'parameters';
    const size = description.size ?? (isKey && width > 0 && height > 0 ? { width, height } : null);
    const [place, cameAtMs] = [this.#frames++, this.#clock.monotonicMs()];
    return { header, headerBytes, payload, description, format, isKey, isPicture, size, place, cameAtMs };
  }
}

/** To be sent on as it is. */
export function passedOn(source: SourceVideo, isCounted: boolean): OutgoingVideo {
  const { format, isKey, isPicture, payload, headerBytes, size, place } = source;
  return {
    kind: 'video',
    format,
    isKey,
    isPicture,
    payload,
    header: headerBytes,
    size,
    place,
    done: 'passed',
    isCounted,
  };
}

/**
 * Requests key frames of a leg: at most one in 500 ms, whatever their causes, and again while none comes, since a request may
 * be lost. One that is wanted sooner is sent when it is due, unless a key frame came before.
 */
export class KeyFrameRequest {
  readonly #clock: Clock;
  readonly #ask: () => void;
  #isWanted = false;
  /** False before the first frame, and where frames stand alone: there is nothing to request. */
  #isCoded = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | null = null;

  constructor(clock: Clock, ask: () => void) {
    this.#clock = clock;
    this.#ask = ask;
  }

  want(): void {
    this.#isWanted = true;
    this.#askWhenDue();
  }

  /** Each frame that the leg sends, before anything is made of it. */
  cameBy(video: Pick<WaitingVideo, 'format' | 'isKey'>): void {
    this.#isCoded = !standsAlone(video.format);
    if (video.isKey) this.#isWanted = false;
    else this.#askWhenDue();
  }

  /** The leg has left. */
  close(): void {
    this.#cancel?.();
  }

  #askWhenDue(): void {
    if (!this.#isWanted || !this.#isCoded || this.#cancel !== null) return;
    const nowMs = this.#clock.monotonicMs();
    const waitMs = this.#askedAtMs + keyFrameAskMsMin - nowMs;
    if (waitMs > 0) {
      this.#cancel = this.#clock.after(waitMs, () => {
        this.#cancel = null;
        this.#askWhenDue();
      });
      return;
    }
    this.#askedAtMs = nowMs;
    this.#ask();
  }
}
