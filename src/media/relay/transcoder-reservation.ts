/**
 * The place among the transcoders that a session has while pictures are made of its frames, or may have to be. Source:
 * calls-and-media.md, The media process and Resolution.
 */
import type { CallMedia } from '../../model/call.ts';
import type { ReservationRefusal } from '../../model/picture.ts';
import type { TranscodingNeed, Transcoders } from '../../core/ports/transcoders.ts';
import { requestedSize } from '../../core/calls/leg-messages.ts';
import type { Downlink } from './downlink.ts';
import { PicturePipeline } from './picture-pipeline.ts';

/** Its downlink is pictures, whoever is there: what the bridge will send is not known before its first frame. */
export function isPictureCall(media: CallMedia): boolean {
  return media.downVideo === 'mjpeg';
}

export class TranscoderReservation {
  readonly #transcoders: Transcoders;
  readonly #maxFps: number;
  readonly #downlink: Downlink;

  constructor(transcoders: Transcoders, maxFps: number, downlink: Downlink) {
    this.#transcoders = transcoders;
    this.#maxFps = maxFps;
    this.#downlink = downlink;
  }

  /** Whether `reserve` would refuse. */
  refusalOf(media: CallMedia): ReservationRefusal | null {
    const need = this.#needOf(media);
    const refusal = need === null ? null : this.#transcoders.refusalOf(need);
    return refusal === null || goesWithout(media, refusal) ? null : refusal;
  }

  /** Null: the downlink has its pipeline, or does without. */
  reserve(media: CallMedia): ReservationRefusal | null {
    const need = this.#needOf(media);
    if (need === null) return null;
    const opened = this.#transcoders.open(need);
    if (!opened.ok) return goesWithout(media, opened.error) ? null : opened.error;
    this.#downlink.pipeline = new PicturePipeline(opened.value, this.#downlink, this.#maxFps);
    return null;
  }

  release(): void {
    const { pipeline } = this.#downlink;
    this.#downlink.pipeline = null;
    pipeline?.close();
  }

  /** Null: there is no video, or it has its place. */
  #needOf({ downVideo, screen }: CallMedia): TranscodingNeed | null {
    if (downVideo === 'none' || screen === null || this.#downlink.pipeline !== null) return null;
    return { request: requestedSize(screen), maxFps: this.#maxFps };
  }
}

/** Under `auto` a bridge that sends MJPEG needs no decoder; one that sends something else is not carried. */
function goesWithout(media: CallMedia, refusal: ReservationRefusal): boolean {
  return refusal === 'engine' && isPictureCall(media) && media.resolution === 'auto';
}
