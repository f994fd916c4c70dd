/**
 * A film that is played over and over: the picture that is due at a moment, as I420 of any size, cut to its shape from
 * the middle. For the simulated bridge.
 */
import type { Frame } from 'node-av/lib';
import { assert } from '../../lib/assert.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { Size } from '../../model/call.ts';
import { fillCrop } from '../geometry/picture-plan.ts';
import { i420Bytes } from '../geometry/source-frame.ts';
import type { Engine } from './engine.ts';
import { FilmReader } from './film-reader.ts';
import { FilterChain, haveSameTraits, traitsOf, type PictureTraits } from './filter-chain.ts';
import { freeFrame, makeFrame } from './native-census.ts';

export class VideoFile {
  /** Its own rate. */
  readonly framesPerSecond: number;
  readonly #engine: Engine;
  readonly #path: string;
  /** Null: the film could not be opened again, and its last picture stands. */
  #reader: FilmReader | null;
  /** The picture that stands, and the one that follows it. */
  #shown: Frame;
  #ahead: Frame;
  /** The moment of the one ahead, over all passes; Infinity: none follows. */
  #aheadMs = 0;
  /** When this pass began, and when it would end now. */
  #passMs = 0;
  #passEndMs = 0;
  #scaler: { readonly chain: FilterChain; readonly source: PictureTraits; readonly size: Size } | null = null;

  /** The failure names the file and what is wrong with it. `path`: of a file; an address is not one. */
  static open(engine: Engine, path: string): Result<VideoFile, string> {
    const reader = FilmReader.open(engine, path);
    if (!reader.ok) return fail(`${path} cannot be played: ${reader.error}`);
    const film = new VideoFile(engine, path, reader.value);
    if (film.#aheadMs === 0) return succeed(film);
    film.close();
    return fail(`${path} cannot be played: none of its pictures can be decoded`);
  }

  private constructor(engine: Engine, path: string, reader: FilmReader) {
    this.#engine = engine;
    this.#path = path;
    this.#reader = reader;
    this.framesPerSecond = reader.framesPerSecond;
    this.#shown = makeFrame(engine);
    this.#ahead = makeFrame(engine);
    this.#aheadMs = this.#readAhead();
  }

  /** The picture that stands at this moment, milliseconds; moments do not go back. Sides are even. */
  pictureAt(atMs: number, size: Size): Uint8Array<ArrayBuffer> {
    while (this.#aheadMs <= atMs) {
      [this.#shown, this.#ahead] = [this.#ahead, this.#shown];
      this.#aheadMs = this.#readAhead();
    }
    const scaled = this.#scalerTo(size).filter(this.#shown);
    assert(scaled !== null, 'what a scaler was built for can be scaled');
    return planesOf(scaled, size);
  }

  close(): void {
    this.#reader?.close();
    this.#scaler?.chain.close();
    freeFrame(this.#shown);
    freeFrame(this.#ahead);
  }

  /** The moment of what was read; at the end of the film it goes on with its beginning. */
  #readAhead(): number {
    const momentMs = this.#reader?.next(this.#ahead) ?? null;
    if (this.#reader !== null && momentMs !== null) {
      this.#passEndMs = this.#passMs + momentMs + this.#reader.stepMs;
      return this.#passMs + momentMs;
    }
    return this.#rewind() ? this.#readAhead() : Infinity;
  }

  /** False: there is nothing to begin anew. */
  #rewind(): boolean {
    const hadPictures = this.#passEndMs > this.#passMs;
    this.#reader?.close();
    this.#reader = null;
    if (!hadPictures) return false;
    const again = FilmReader.open(this.#engine, this.#path);
    this.#reader = again.ok ? again.value : null;
    this.#passMs = this.#passEndMs;
    return again.ok;
  }

  #scalerTo(size: Size): FilterChain {
    const source = traitsOf(this.#shown);
    const last = this.#scaler;
    if (last !== null && haveSameTraits(last.source, source) && isSameSize(last.size, size))
      return last.chain;
    last?.chain.close();
    this.#scaler = null;
    const chain = buildFilling(this.#engine, source, size);
    this.#scaler = { chain, source, size };
    return chain;
  }
}

/** To exactly this size, in the colours of what phones send: limited range, BT.601. */
function buildFilling(engine: Engine, source: PictureTraits, size: Size): FilterChain {
  const { width, height, x, y } = fillCrop(source, size);
  return FilterChain.build(engine, source, [
    ['crop', `${width}:${height}:${x}:${y}:exact=1`],
    ['scale', `${size.width}:${size.height}:flags=bicubic:out_range=limited:out_color_matrix=bt601`],
    ['format', 'pix_fmts=yuv420p'],
  ]);
}

function isSameSize(one: Size, other: Size): boolean {
  return one.width === other.width && one.height === other.height;
}

/** Without the padding that lines of a frame have. */
function planesOf(frame: Frame, { width, height }: Size): Uint8Array<ArrayBuffer> {
  const picture = new Uint8Array(i420Bytes({ width, height }));
  const planes = frame.data ?? [];
  let end = 0;
  for (const [index, plane] of planes.slice(0, 3).entries()) {
    const divisor = index === 0 ? 1 : 2;
    const stride = frame.linesize[index] ?? 0;
    for (let row = 0; row < height / divisor; row += 1) {
      picture.set(plane.subarray(row * stride, row * stride + width / divisor), end);
      end += width / divisor;
    }
  }
  return picture;
}
