/** The pictures that reach a device: the last of them, and what can be said of them all. */
import type { Clock } from '../../lib/clock.ts';
import type { Size } from '../../model/call.ts';
import type { FrameHeader } from '../../protocol/media/frame-header.ts';
import { jpegSize } from '../../media/geometry/jpeg-header.ts';
import { sizeInWords } from '../bridge/picture-sizes.ts';

export interface ReceivedPicture {
  readonly size: Size;
  readonly jpeg: Uint8Array<ArrayBuffer>;
}

export interface PicturesTold {
  readonly text: string;
  readonly json: object;
  readonly last: ReceivedPicture;
}

export class ReceivedPictures {
  readonly #clock: Clock;
  readonly #wanted: number;
  readonly #told: Promise<PicturesTold>;
  #resolve: (told: PicturesTold) => void = () => undefined;
  #count = 0;
  #bytes = 0;
  #firstMs = 0;

  /** `wanted`: how many make a story; at least 2. */
  constructor(clock: Clock, wanted: number) {
    this.#clock = clock;
    this.#wanted = wanted;
    this.#told = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Resolves with the last of those that are wanted. */
  whenThere(): Promise<PicturesTold> {
    return this.#told;
  }

  /** Of a leg's `onFrame`. What is no JPEG is not counted. */
  readonly take = (header: FrameHeader, payload: Uint8Array): void => {
    const size = header.kind === 'video' && header.format === 'mjpeg' ? jpegSize(payload) : null;
    if (size === null || this.#count === this.#wanted) return;
    if (this.#count === 0) this.#firstMs = this.#clock.monotonicMs();
    this.#count += 1;
    this.#bytes += payload.length;
    if (this.#count === this.#wanted) this.#resolve(this.#notify({ size, jpeg: new Uint8Array(payload) }));
  };

  #notify(last: ReceivedPicture): PicturesTold {
    const seconds = (this.#clock.monotonicMs() - this.#firstMs) / 1000;
    const perSecond = ((this.#count - 1) / Math.max(0.001, seconds)).toFixed(1);
    const bytesEach = Math.round(this.#bytes / this.#count);
    return {
      text: `${this.#count} pictures of ${sizeInWords(last.size)}, ${perSecond} a second, ${(bytesEach / 1000).toFixed(1)} kB each`,
      json: { count: this.#count, ...last.size, per_second: Number(perSecond), bytes_each: bytesEach },
      last,
    };
  }
}
