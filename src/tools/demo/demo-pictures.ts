/**
 * The pictures of the demo's calls: what its phone shows, the last that reaches the device and what can be said of them
 * all, and the file in which they are saved.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Size } from '../../model/call.ts';
import type { FrameHeader } from '../../protocol/media/frame-header.ts';
import { jpegSize } from '../../media/geometry/jpeg.ts';
import { sizeInWords } from '../bridge/bridge-report.ts';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Engine } from '../../media/codec/engine.ts';
import { testFilm, type Film } from '../bridge/test-picture.ts';
import { openFrameCoder } from '../bridge/frame-coder.ts';
import type { ShowPlan } from '../bridge/bridge-show.ts';
import type { Timeline } from './timeline.ts';
import { encodePng, type RgbPicture } from '../../media/codec/picture-file.ts';
import { counted } from '../../cli/shell/option-values.ts';

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
      text: `${counted(this.#count, 'picture')} of ${sizeInWords(last.size)}, ${perSecond} a second, ${(bytesEach / 1000).toFixed(1)} kB each`,
      json: { count: this.#count, ...last.size, per_second: Number(perSecond), bytes_each: bytesEach },
      last,
    };
  }
}

const fileName = 'reveille-demo-pictures.png';

/** Says where it is; what cannot be written is said, too, and spoils no story. */
export async function savePictures(
  engine: Engine,
  { size, rgb }: RgbPicture,
  directory: string,
  timeline: Timeline,
): Promise<void> {
  const path = join(resolve(directory), fileName);
  try {
    await writeFile(path, encodePng(engine, size, rgb));
    timeline.notify('demo', `pictures saved: ${path}`, { saved: path });
    timeline.result('the pictures, side by side', path);
  } catch (error) {
    timeline.notify(
      'demo',
      `pictures not saved: ${(error as Error).message}; name a directory with --pictures`,
    );
  }
}

/** A phone that is held upright, whatever it is asked for. */
const phoneSize = { width: 240, height: 320 };

/** Shows the same film in each call, and remembers what it showed last. */
export class DemoPhone {
  readonly plan: ShowPlan = {
    format: 'h264',
    sizes: [phoneSize],
    changeEveryMs: null,
    framesPerSecond: null,
    tone: null,
    openFilm: () => this.#film(),
  };
  readonly #engine: Engine;
  #last: Uint8Array<ArrayBuffer> | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  lastPicture(): ReceivedPicture {
    const coder = openFrameCoder(this.#engine, 'mjpeg', 1);
    const coded = this.#last === null ? null : coder.code(this.#last, phoneSize, true);
    coder.close();
    return { size: phoneSize, jpeg: new Uint8Array(coded?.payload ?? []) };
  }

  #film(): Film {
    const film = testFilm();
    return { ...film, pictureAt: (atMs, size) => (this.#last = film.pictureAt(atMs, size)) };
  }
}
