/**
 * The video that a leg sends: each frame with what the relay needs to know, and requests for key frames. Source: calls-and-media.md,
 * Legs and Resolution.
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
  readonly description: FrameDescription;
  /** Null: same as earlier frames, as far as known. */
  readonly size: Size | null;
  /** Position among the frames of its direction, ascending. */
  readonly place: number;
  readonly cameAtMs: number;
}

export class SourceReader {
  readonly #clock: Clock;
  #frames = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * A frame is a key frame if its header or its payload says so: passed-on payloads need not be readable here, and senders that set no
   * flags are supported.
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
 * Requests key frames from a leg: at most one in 500 ms, whatever the causes, and again while none arrives, since a request may be lost.
 * A request that comes earlier is sent when it is due, unless a key frame arrived before.
 */
export class KeyFrameRequest {
  readonly #clock: Clock;
  readonly #ask: () => void;
  #isWanted = false;
  /** False before the first frame, and for independent frames, which need no request. */
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

  /** Must be called for each frame that the leg sends, before it is processed. */
  recordFrame(video: Pick<WaitingVideo, 'format' | 'isKey'>): void {
    this.#isCoded = !standsAlone(video.format);
    if (video.isKey) this.#isWanted = false;
    else this.#askWhenDue();
  }

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
