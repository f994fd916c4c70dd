/** Counts the pictures that a process makes, and what it spends on them. */
import type { Size } from '../../src/model/call.ts';
import { jpegSize } from '../../src/media/geometry/jpeg.ts';
import type { PictureReading } from './picture-protocol.ts';

const microsecondsPerSecond = 1e6;

export class PictureMeter {
  readonly #output: Size;
  readonly #startMs = performance.now();
  readonly #startCpu = process.cpuUsage();
  #frames = 0;
  #wrong = 0;
  #bytes = 0;

  constructor(output: Size) {
    this.#output = output;
  }

  /** Null: none came. */
  count(jpeg: Uint8Array | null): void {
    this.#frames += 1;
    const size = jpeg === null ? null : jpegSize(jpeg);
    if (size?.width !== this.#output.width || size.height !== this.#output.height) this.#wrong += 1;
    this.#bytes += jpeg?.length ?? 0;
  }

  read(): PictureReading {
    const { user, system } = process.cpuUsage(this.#startCpu);
    return {
      frames: this.#frames,
      wrong: this.#wrong,
      bytes: this.#bytes,
      cpuSeconds: (user + system) / microsecondsPerSecond,
      wallSeconds: (performance.now() - this.#startMs) / 1000,
    };
  }
}
