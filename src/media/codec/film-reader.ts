/**
 * One pass through a film: the pictures of its video stream, decoded one by one, each with its moment. Any file that
 * FFmpeg reads; a broken packet is passed over. Its owner plays it again.
 */
import type { CodecContext, FormatContext, Frame, Packet, Stream } from 'node-av/lib';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { Engine } from './engine.ts';
import {
  closeInput,
  freeCodecContext,
  freePacket,
  makeCodecContext,
  makePacket,
  openInput,
} from './native-census.ts';

/** Of films that do not tell their rate, as FFmpeg takes them. */
const usualFramesPerSecond = 25;
/** Timestamps that go further in one step, or back, are taken for broken. */
const stepMsMax = 10_000;

export class FilmReader {
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
    closeInput(input);
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
    freePacket(this.#packet);
    freeCodecContext(this.#context);
    closeInput(this.#input);
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

/** Null: there is none. */
function openDecoder(engine: Engine, stream: Stream): CodecContext | null {
  const codec = engine.av.Codec.findDecoder(stream.codecpar.codecId);
  if (codec === null) return null;
  const context = makeCodecContext(engine, codec);
  context.parametersToContext(stream.codecpar);
  context.pktTimebase = stream.timeBase;
  context.threadCount = 1;
  if (context.open2Sync(codec, null) >= 0) return context;
  freeCodecContext(context);
  return null;
}
