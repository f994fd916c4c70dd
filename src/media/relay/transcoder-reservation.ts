/**
 * The reservation of one direction's video at the transcoders, held while pictures are made of its frames, or may have to
 * be. Source: calls-and-media.md, The media process.
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
  /** Of the pictures that are made. */
  readonly maxFps: number;
}

/** What load refused is not tried again sooner. */
const reservationRetryMs = 1000;

export class TranscoderReservation {
  readonly #deps: ReservationDeps;
  readonly #audience: PictureAudience;
  #pipeline: PicturePipeline | null = null;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  /** Of the last try. */
  #refusal: ReservationRefusal | null = null;

  constructor(deps: ReservationDeps, audience: PictureAudience) {
    this.#deps = deps;
    this.#audience = audience;
  }

  /** Null: no pictures are made. */
  get pipeline(): PicturePipeline | null {
    return this.#pipeline;
  }

  /** Why there is none, where one was asked for. */
  get refusal(): ReservationRefusal | null {
    return this.#refusal;
  }

  /** Whether `reserve` would refuse. */
  refusalOf(media: CallMedia): ReservationRefusal | null {
    const need = this.#needOf(media);
    const refusal = need === null ? null : this.#deps.transcoders.refusalOf(need);
    return refusal === null || goesWithout(media, refusal) ? null : refusal;
  }

  /** Of a call whose downlink it is. Null: there is a pipeline, or the call does without. */
  reserve(media: CallMedia): ReservationRefusal | null {
    const need = this.#needOf(media);
    const refusal = need === null ? null : this.#open(need);
    return refusal === null || goesWithout(media, refusal) ? null : refusal;
  }

  /** For a frame of which pictures are to be made: what load refused is tried again, now and then. */
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

  /** Null: there is no video, or it has its place. */
  #needOf({ downVideo, screen }: CallMedia): TranscodingNeed | null {
    if (downVideo === 'none' || this.#pipeline !== null) return null;
    return { request: requestedSize(screen), maxFps: this.#deps.maxFps };
  }
}

/** Its downlink is pictures, whoever is there: what the bridge will send is not known before its first frame. */
export function isPictureCall(media: CallMedia): boolean {
  return media.downVideo === 'mjpeg';
}

/** Under `auto` a bridge that sends MJPEG needs no decoder; one that sends something else is not carried. */
function goesWithout(media: CallMedia, refusal: ReservationRefusal): boolean {
  return refusal === 'engine' && isPictureCall(media) && media.resolution === 'auto';
}

/** Of a leg that takes these. */
export function needsPictures(media: CallMedia, takes: DeviceOutput['takes']): boolean {
  return takes === 'pictures' || isPictureCall(media);
}
