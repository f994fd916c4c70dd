/**
 * One decoder of libavcodec, set to answer every access unit at once. Of damaged video it has the pictures that FFmpeg shows,
 * and reports the damage; damaged JPEGs it refuses.
 */
import type { AVCodecID } from 'node-av/constants';
import type { CodecContext, Frame, Packet } from 'node-av/lib';
import type { Size } from '../../model/call.ts';
import type { Engine } from './engine.ts';
import { freeNatives, makeFrame, makePacket, openCodec } from './native-census.ts';

/** `waiting`: nothing came out yet, and nothing is wrong; `broken`: nothing came out. */
export type Decoding = 'decoded' | 'waiting' | 'broken';
export type DecodedFormat = 'h264' | 'h265' | 'mjpeg';

/** Coded pictures are padded to whole blocks; so much may lie beyond a side. */
const paddingMax = 128;

export class Decoder {
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #again: number;
  readonly #corrupt: number;
  #frame: Frame;
  #spare: Frame;
  #isDamaged = false;

  /** Throws where the engine has no such decoder. `sourceMax` bounds the memory that a picture takes; `halvings`: of JPEGs, how often their sides are halved. */
  constructor(engine: Engine, format: DecodedFormat, sourceMax: Size, halvings = 0) {
    const { constants } = engine;
    const codec = engine.av.Codec.findDecoder(codecId(engine, format));
    this.#context = openCodec(engine, codec, `decoder of ${format}`, (context) => {
      context.setFlags(constants.AV_CODEC_FLAG_LOW_DELAY);
      // Without it a picture that refers to a missing one is decoded, and kept.
      if (format === 'h265') context.setFlags(constants.AV_CODEC_FLAG_OUTPUT_CORRUPT);
      // H.264 minds data left over behind a picture only where it is told to; it shows the picture all the same.
      if (format !== 'h265') context.setOption('err_detect', format === 'mjpeg' ? 'explode' : 'aggressive');
      const pixelsMax = (sourceMax.width + paddingMax) * (sourceMax.height + paddingMax);
      context.setOption('max_pixels', String(pixelsMax));
      if (halvings > 0) context.setOption('lowres', halvings);
      // The fastest inverse transform that FFmpeg has in SIMD here; elsewhere it would be the slowest.
      else if (format === 'mjpeg' && process.arch === 'x64') context.setOption('idct', 'xvid');
    });
    this.#again = constants.AVERROR_EAGAIN;
    this.#corrupt = constants.AV_FRAME_FLAG_CORRUPT;
    this.#packet = makePacket(engine);
    this.#frame = makeFrame(engine);
    this.#spare = makeFrame(engine);
  }

  /** What was decoded last. */
  get frame(): Frame {
    return this.#frame;
  }

  /** Part of what was decoded last was missing or damaged, as far as the decoder knows. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  /** Of several pictures the newest stays. */
  decode(payload: Uint8Array<ArrayBuffer>): Decoding {
    // An empty packet would end the stream.
    if (payload.length === 0) return 'broken';
    // Given back before it is needed, so that the next picture comes into the same memory, which the cache still has.
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
