/**
 * A video file that is played in a loop: returns the picture that is due at a moment, as I420 of any size, cropped to its aspect from
 * the middle. Reads any file that FFmpeg supports. For the simulated bridge.
 */
import type { Frame, CodecContext, FormatContext, Packet, Stream } from 'node-av/lib';
import { assert } from '../../lib/assert.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { Size } from '../../model/call.ts';
import { fillCrop } from '../geometry/picture-plan.ts';
import type { Engine } from './engine.ts';
import { FilterChain, haveSameTraits, traitsOf, type PictureTraits } from './filter-chain.ts';
import { freeNatives, makeFrame, makePacket, openCodec, openInput } from './native-census.ts';

export class VideoFile {
  readonly framesPerSecond: number;
  readonly #engine: Engine;
  readonly #path: string;
  /** Null: the file could not be reopened; its last picture stays. */
  #reader: FilmReader | null;
  #shown: Frame;
  #spare: Frame;
  #pictures = 0;
  #scaler: { readonly chain: FilterChain; readonly source: PictureTraits; readonly size: Size } | null = null;

  /** The error names the file and its fault. `path`: a file, not a URL. */
  static open(engine: Engine, path: string): Result<VideoFile, string> {
    const reader = FilmReader.open(engine, path);
    if (!reader.ok) return fail(`${path} cannot be played: ${reader.error}`);
    const film = new VideoFile(engine, path, reader.value);
    if (film.#advance()) return succeed(film);
    film.close();
    return fail(`${path} cannot be played: none of its pictures can be decoded`);
  }

  private constructor(engine: Engine, path: string, reader: FilmReader) {
    this.#engine = engine;
    this.#path = path;
    this.#reader = reader;
    this.framesPerSecond = reader.framesPerSecond;
    this.#shown = makeFrame(engine);
    this.#spare = makeFrame(engine);
  }

  /** The picture due at `atMs`, milliseconds, which never decreases. Sides are even. */
  pictureAt(atMs: number, size: Size): Uint8Array<ArrayBuffer> {
    const due = Math.floor((atMs * this.framesPerSecond) / 1000) + 1;
    while (this.#pictures < due) if (!this.#advance()) break;
    const scaled = this.#scalerTo(size).filter(this.#shown);
    assert(scaled !== null, 'a picture with the traits of its scaler can be scaled');
    return new Uint8Array(scaled.toBuffer());
  }

  close(): void {
    this.#reader?.close();
    this.#scaler?.chain.close();
    freeNatives(this.#shown, this.#spare);
  }

  #advance(): boolean {
    if (this.#reader?.next(this.#spare) !== true && !this.#rewind()) return false;
    [this.#shown, this.#spare] = [this.#spare, this.#shown];
    this.#pictures += 1;
    return true;
  }

  #rewind(): boolean {
    this.#reader?.close();
    this.#reader = null;
    const again = this.#pictures === 0 ? null : FilmReader.open(this.#engine, this.#path);
    if (again?.ok !== true) return false;
    this.#reader = again.value;
    return this.#reader.next(this.#spare);
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

/** Scales to exactly this size, in the colours that phones send: limited range, BT.601. */
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

/** FFmpeg's default for files without a frame rate. */
const usualFramesPerSecond = 25;

/** One pass over a file: its pictures one by one; broken packets are skipped. */
class FilmReader {
  readonly framesPerSecond: number;
  readonly #input: FormatContext;
  readonly #index: number;
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #again: number;

  /** The failure says what is wrong with the file. */
  static open(engine: Engine, path: string): Result<FilmReader, string> {
    const { AVMEDIA_TYPE_VIDEO } = engine.constants;
    const input = openInput(engine, path);
    if (input === null)
      return fail('it does not exist, cannot be read, or is not a video that FFmpeg supports');
    const stream = input.streams.find(({ codecpar }) => codecpar.codecType === AVMEDIA_TYPE_VIDEO);
    const context = stream === undefined ? null : openDecoder(engine, stream);
    if (stream !== undefined && context !== null)
      return succeed(new FilmReader(engine, input, stream, context));
    freeNatives(input);
    return fail(stream === undefined ? 'it has no video' : 'FFmpeg has no decoder for its video');
  }

  private constructor(engine: Engine, input: FormatContext, stream: Stream, context: CodecContext) {
    this.#input = input;
    this.#index = stream.index;
    this.#context = context;
    this.#packet = makePacket(engine);
    this.#again = engine.constants.AVERROR_EAGAIN;
    const rate = stream.avgFrameRate;
    this.framesPerSecond = rate.num > 0 && rate.den > 0 ? rate.toDouble() : usualFramesPerSecond;
  }

  /** Decodes the next picture into `frame`. False: there is none left. */
  next(frame: Frame): boolean {
    for (;;) {
      frame.unref();
      const status = this.#context.receiveFrameSync(frame);
      if (status >= 0) return true;
      if (status !== this.#again) return false;
      this.#feed();
    }
  }

  close(): void {
    freeNatives(this.#packet, this.#context, this.#input);
  }

  /** Sends the next packet of the video; after the last one, flushes the decoder. */
  #feed(): void {
    for (;;) {
      this.#packet.unref();
      if (this.#input.readFrameSync(this.#packet) < 0) return void this.#context.sendPacketSync(null);
      if (this.#packet.streamIndex !== this.#index) continue;
      if (this.#context.sendPacketSync(this.#packet) >= 0) return;
    }
  }
}

function openDecoder(engine: Engine, stream: Stream): CodecContext | null {
  const codec = engine.av.Codec.findDecoder(stream.codecpar.codecId);
  try {
    return openCodec(engine, codec, 'decoder of the film', (context) =>
      context.parametersToContext(stream.codecpar),
    );
  } catch {
    return null;
  }
}
