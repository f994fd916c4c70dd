/**
 * One libavcodec decoder, configured to answer every access unit at once. It returns damaged video as FFmpeg shows it and reports the
 * damage; it rejects damaged JPEGs.
 */
import type { AVCodecID } from 'node-av/constants';
import type { CodecContext, Frame, Packet } from 'node-av/lib';
import type { Size } from '../../model/call.ts';
import type { Engine } from './engine.ts';
import { freeNatives, makeFrame, makePacket, openCodec } from './native-census.ts';

/** `waiting`: no picture yet, and no fault; `broken`: no picture. */
export type Decoding = 'decoded' | 'waiting' | 'broken';
export type DecodedFormat = 'h264' | 'h265' | 'mjpeg';

/** Coded pictures are padded to whole blocks: a side may exceed the picture by this many pixels. */
const paddingMax = 128;

export class Decoder {
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #again: number;
  readonly #corrupt: number;
  #frame: Frame;
  #spare: Frame;
  #isDamaged = false;

  /**
   * Throws if the engine has no such decoder. `sourceMax` bounds the memory of a picture; `halvings`: how often a JPEG's sides are
   * halved.
   */
  constructor(engine: Engine, format: DecodedFormat, sourceMax: Size, halvings = 0) {
    const { constants } = engine;
    const codec = engine.av.Codec.findDecoder(codecId(engine, format));
    this.#context = openCodec(engine, codec, `decoder of ${format}`, (context) => {
      context.setFlags(constants.AV_CODEC_FLAG_LOW_DELAY);
      // Without it FFmpeg decodes a picture that refers to a missing one, but does not return it.
      if (format === 'h265') context.setFlags(constants.AV_CODEC_FLAG_OUTPUT_CORRUPT);
      // H.264 reports leftover data after a picture only in this mode; it returns the picture all the same.
      if (format !== 'h265') context.setOption('err_detect', format === 'mjpeg' ? 'explode' : 'aggressive');
      const pixelsMax = (sourceMax.width + paddingMax) * (sourceMax.height + paddingMax);
      context.setOption('max_pixels', String(pixelsMax));
      if (halvings > 0) context.setOption('lowres', halvings);
      // FFmpeg's fastest SIMD inverse transform on x64; on other architectures it is the slowest.
      else if (format === 'mjpeg' && process.arch === 'x64') context.setOption('idct', 'xvid');
    });
    this.#again = constants.AVERROR_EAGAIN;
    this.#corrupt = constants.AV_FRAME_FLAG_CORRUPT;
    this.#packet = makePacket(engine);
    this.#frame = makeFrame(engine);
    this.#spare = makeFrame(engine);
  }

  get frame(): Frame {
    return this.#frame;
  }

  /** Part of the latest picture was missing or damaged, as far as the decoder can tell. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  /** If several pictures come out, the newest is kept. */
  decode(payload: Uint8Array<ArrayBuffer>): Decoding {
    // An empty packet would end the stream.
    if (payload.length === 0) return 'broken';
    // Unreferenced early, so that the next picture reuses the same memory, which is still in the CPU cache.
    this.#frame.unref();
    this.#packet.unref();
    this.#packet.data = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    this.#isDamaged = this.#context.sendPacketSync(this.#packet) < 0;
    let isDecoded = false;
    let status = this.#context.receiveFrameSync(this.#spare);
    for (; status >= 0; status = this.#context.receiveFrameSync(this.#spare)) {
      const decoded = this.#spare;
      this.#spare = this.#frame;
      this.#frame = decoded;
      isDecoded = true;
      this.#isDamaged ||= this.#isPaintedOver(decoded);
    }
    this.#isDamaged ||= status !== this.#again;
    if (isDecoded) return 'decoded';
    return this.#isDamaged ? 'broken' : 'waiting';
  }

  close(): void {
    freeNatives(this.#context, this.#packet, this.#frame, this.#spare);
  }

  #isPaintedOver(frame: Frame): boolean {
    return frame.decodeErrorFlags !== 0 || (frame.flags & this.#corrupt) !== 0;
  }
}

function codecId({ constants }: Engine, format: DecodedFormat): AVCodecID {
  if (format === 'h264') return constants.AV_CODEC_ID_H264;
  return format === 'h265' ? constants.AV_CODEC_ID_HEVC : constants.AV_CODEC_ID_MJPEG;
}
