/**
 * The transcoder reservation of one direction's video, held while pictures are made from its frames or may be. Source:
 * calls-and-media.md, The media process.
 */
import type { Clock } from '../../lib/clock.ts';
import type { CallMedia, Size } from '../../model/call.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { TranscodingNeed } from '../transcoding/transcoder-load.ts';
import type { Transcoders } from '../transcoding/transcoder-pool.ts';
import { requestedSize } from '../../core/calls/leg-messages.ts';
import type { DeviceOutput } from './send-queue.ts';
import { type PictureAudience, PicturePipeline } from './picture-pipeline.ts';

export interface ReservationDeps {
  readonly clock: Clock;
  readonly transcoders: Transcoders;
  readonly maxFps: number;
}

/** Minimum time before a retry after a refusal for load. */
const reservationRetryMs = 1000;

export class TranscoderReservation {
  readonly #deps: ReservationDeps;
  readonly #audience: PictureAudience;
  #pipeline: PicturePipeline | null = null;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #refusal: ReservationRefusal | null = null;

  constructor(deps: ReservationDeps, audience: PictureAudience) {
    this.#deps = deps;
    this.#audience = audience;
  }

  get pipeline(): PicturePipeline | null {
    return this.#pipeline;
  }

  /** The refusal of the last attempt; null: none. */
  get refusal(): ReservationRefusal | null {
    return this.#refusal;
  }

  refusalOf(media: CallMedia): ReservationRefusal | null {
    const need = this.#needOf(media);
    const refusal = need === null ? null : this.#deps.transcoders.refusalOf(need);
    return refusal === null || canPassThrough(media, refusal) ? null : refusal;
  }

  /** For the downlink of a call. Null: a pipeline exists, or the call needs none. */
  reserve(media: CallMedia): ReservationRefusal | null {
    const need = this.#needOf(media);
    const refusal = need === null ? null : this.#open(need);
    return refusal === null || canPassThrough(media, refusal) ? null : refusal;
  }

  /** Reserves for a frame that needs pictures; retries after a refusal, at intervals. */
  reserveFor(frame: Size): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#pipeline !== null || nowMs - this.#triedAtMs < reservationRetryMs) return;
    this.#triedAtMs = nowMs;
    this.#open({ request: frame, maxFps: this.#deps.maxFps });
  }

  release(): void {
    const pipeline = this.#pipeline;
    this.#pipeline = null;
    this.#triedAtMs = Number.NEGATIVE_INFINITY;
    pipeline?.close();
  }

  #open(need: TranscodingNeed): ReservationRefusal | null {
    const opened = this.#deps.transcoders.open(need);
    this.#refusal = opened.ok ? null : opened.error;
    if (!opened.ok) return opened.error;
    this.#pipeline = new PicturePipeline(opened.value, this.#audience, this.#deps);
    return null;
  }

  #needOf({ downVideo, screen }: CallMedia): TranscodingNeed | null {
    if (downVideo === 'none' || this.#pipeline !== null) return null;
    return { request: requestedSize(screen), maxFps: this.#deps.maxFps };
  }
}

/** The downlink is pictures, no matter who is connected: the bridge's format is unknown before its first frame. */
export function isPictureCall(media: CallMedia): boolean {
  return media.downVideo === 'mjpeg';
}

/** Under `auto` a bridge that sends MJPEG needs no decoder; other formats are then not carried. */
function canPassThrough(media: CallMedia, refusal: ReservationRefusal): boolean {
  return refusal === 'engine' && isPictureCall(media) && media.resolution === 'auto';
}

/** `takes`: accepted by the leg. */
export function needsPictures(media: CallMedia, takes: DeviceOutput['takes']): boolean {
  return takes === 'pictures' || isPictureCall(media);
}
