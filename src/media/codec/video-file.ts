/**
 * A film that is played over and over: the picture that is due at a moment, as I420 of any size, cut to its shape from
 * the middle. Any file that FFmpeg reads. For the simulated bridge.
 */
import type { Frame, CodecContext, FormatContext, Packet, Stream } from 'node-av/lib';
import { assert } from '../../lib/assert.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { Size } from '../../model/call.ts';
import { fillCrop } from '../geometry/picture-plan.ts';
import { i420Bytes } from '../geometry/source-frame.ts';
import type { Engine } from './engine.ts';
import { FilterChain, haveSameTraits, traitsOf, type PictureTraits } from './filter-chain.ts';
import { freeNatives, makeFrame, makePacket, openCodec, openInput } from './native-census.ts';

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
    freeNatives(this.#shown, this.#ahead);
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

/** Of films that do not tell their rate, as FFmpeg takes them. */
const usualFramesPerSecond = 25;
/** Timestamps that go further in one step, or back, are taken for broken. */
const stepMsMax = 10_000;

/** One pass through a film: its pictures one by one, each with its moment; a broken packet is passed over. */
class FilmReader {
  readonly framesPerSecond: number;
  readonly #engine: Engine;
  readonly #input: FormatContext;
  readonly #stream: Stream;
  readonly #context: CodecContext;
  readonly #packet: Packet;
  /** Of the file's first timestamp; null: none was there yet. */
  #origin: bigint | null = null;
  #lastMs = 0;
  #pictures = 0;

  /** The failure says what is wrong with the file. */
  static open(engine: Engine, path: string): Result<FilmReader, string> {
    const { AVMEDIA_TYPE_VIDEO } = engine.constants;
    const input = openInput(engine, path);
    if (input === null) return fail('it is not there, may not be read, or is no film that FFmpeg knows');
    const stream = input.streams.find(({ codecpar }) => codecpar.codecType === AVMEDIA_TYPE_VIDEO);
    const context = stream === undefined ? null : openDecoder(engine, stream);
    if (stream !== undefined && context !== null)
      return succeed(new FilmReader(engine, input, stream, context));
    freeNatives(input);
    return fail(stream === undefined ? 'it has no video' : 'FFmpeg has no decoder for its video');
  }

  private constructor(engine: Engine, input: FormatContext, stream: Stream, context: CodecContext) {
    this.#engine = engine;
    this.#input = input;
    this.#stream = stream;
    this.#context = context;
    this.#packet = makePacket(engine);
    const rate = stream.avgFrameRate;
    this.framesPerSecond = rate.num > 0 && rate.den > 0 ? rate.toDouble() : usualFramesPerSecond;
  }

  /** Milliseconds that one picture stands, as a rule. */
  get stepMs(): number {
    return 1000 / this.framesPerSecond;
  }

  /** Decodes the next picture into `frame`: its moment, milliseconds since the first one. Null: there is none left. */
  next(frame: Frame): number | null {
    const { AVERROR_EAGAIN } = this.#engine.constants;
    for (;;) {
      frame.unref();
      const status = this.#context.receiveFrameSync(frame);
      if (status >= 0) return this.#momentOf(frame.bestEffortTimestamp);
      if (status !== AVERROR_EAGAIN) return null;
      this.#feed();
    }
  }

  close(): void {
    freeNatives(this.#packet, this.#context, this.#input);
  }

  /** With the next packet of the video; behind the last one, the decoder is told to give what it holds back. */
  #feed(): void {
    for (;;) {
      this.#packet.unref();
      if (this.#input.readFrameSync(this.#packet) < 0) return void this.#context.sendPacketSync(null);
      if (this.#packet.streamIndex !== this.#stream.index) continue;
      if (this.#context.sendPacketSync(this.#packet) >= 0) return;
    }
  }

  #momentOf(timestamp: bigint): number {
    const { AV_NOPTS_VALUE } = this.#engine.constants;
    const usualMs = this.#pictures === 0 ? 0 : this.#lastMs + this.stepMs;
    let momentMs = usualMs;
    if (timestamp !== AV_NOPTS_VALUE) {
      this.#origin ??= timestamp;
      momentMs = Number(timestamp - this.#origin) * this.#stream.timeBase.toDouble() * 1000;
    }
    const isLikely = momentMs >= this.#lastMs && momentMs <= this.#lastMs + stepMsMax;
    this.#pictures += 1;
    this.#lastMs = isLikely ? momentMs : usualMs;
    return this.#lastMs;
  }
}

/** Null: there is none that opens. */
function openDecoder(engine: Engine, stream: Stream): CodecContext | null {
  const codec = engine.av.Codec.findDecoder(stream.codecpar.codecId);
  try {
    return openCodec(engine, codec, 'decoder of the film', (context) => {
      context.parametersToContext(stream.codecpar);
      context.pktTimebase = stream.timeBase;
    });
  } catch {
    return null;
  }
}
