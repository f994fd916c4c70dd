/**
 * Sound decoders: each decodes the packets of one source to interleaved samples. A-law and PCM need no library; libavcodec decodes Opus
 * and AMR. Source: calls-and-media.md, Legs.
 */
import type { AVSampleFormat, FFDecoderCodec } from 'node-av/constants';
import type { CodecContext, Frame, Packet, SoftwareResampleContext } from 'node-av/lib';
import type { SampleShape } from '../../model/media/sound.ts';
import { soundBlockMs, soundPacketMsMax } from '../../model/media/sound-limits.ts';
import { decodeAlaw } from '../sound/alaw.ts';
import { type AmrBand, parseAmr } from '../sound/amr-frames.ts';
import type { SoundSource, SourceFormat } from '../sound/sound-source.ts';
import { channelLayoutOf, engineFor, type Engine } from './engine.ts';
import { freeNatives, makeFrame, makePacket, makeResampler, openCodec } from './native-census.ts';

export interface SoundDecoder {
  /** The samples may lie in the payload. Null: the packet is broken, or too long. */
  decode(payload: Uint8Array<ArrayBuffer>): Int16Array<ArrayBuffer> | null;
  /** The next sample does not depend on earlier ones. Absent: no sample does. */
  reset?(): void;
  close(): void;
}

/** Throws if the engine has no such decoder. `engine`: null allows A-law and PCM only. */
export function openSoundDecoder(engine: Engine | null, source: SoundSource): SoundDecoder {
  const { format } = source;
  if (format === 'alaw' || format === 'pcm') return new PlainDecoder(source);
  const opened = engineFor(format, engine);
  const codec = new CodedSound(opened, decoderOf(opened, format), source);
  return format === 'opus' ? codec : new AmrDecoder(codec, source);
}

function decoderOf({ constants }: Engine, format: Exclude<SourceFormat, 'alaw' | 'pcm'>): FFDecoderCodec {
  if (format === 'opus') return constants.FF_DECODER_OPUS;
  return format === 'amr_wide' ? constants.FF_DECODER_AMRWB : constants.FF_DECODER_AMRNB;
}

class PlainDecoder implements SoundDecoder {
  readonly #source: SoundSource;
  readonly #samplesMax: number;

  constructor(source: SoundSource) {
    this.#source = source;
    this.#samplesMax = ((source.rate * soundPacketMsMax) / 1000) * source.channels;
  }

  decode(payload: Uint8Array<ArrayBuffer>): Int16Array<ArrayBuffer> | null {
    const { format, channels } = this.#source;
    const samples = payload.length / (format === 'pcm' ? 2 : 1);
    if (samples > this.#samplesMax || samples % channels !== 0) return null;
    return format === 'pcm' ? littleEndianSamples(payload) : decodeAlaw(payload);
  }

  close(): void {
    // Nothing to free.
  }
}

/** A libavcodec decoder, which answers every packet at once: with floats, a plane for each channel. */
class CodedSound implements SoundDecoder {
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #frame: Frame;
  /** Frame of interleaved 16-bit samples, which is used again while packets have the same length. */
  readonly #samples: Frame;
  readonly #converter: SoftwareResampleContext;
  readonly #format: AVSampleFormat;

  constructor(engine: Engine, decoder: FFDecoderCodec, source: SampleShape) {
    const { av, constants } = engine;
    const codec = av.Codec.findDecoderByName(decoder);
    this.#context = openCodec(engine, codec, 'decoder of such sound', (context) => {
      context.sampleRate = source.rate;
      context.channelLayout = channelLayoutOf(engine, source.channels);
    });
    this.#packet = makePacket(engine);
    this.#frame = makeFrame(engine);
    this.#samples = makeFrame(engine);
    this.#format = constants.AV_SAMPLE_FMT_S16;
    this.#converter = makeResampler(engine, source, source.rate, constants.AV_SAMPLE_FMT_FLTP);
  }

  decode(payload: Uint8Array<ArrayBuffer>): Int16Array<ArrayBuffer> | null {
    this.#packet.unref();
    this.#packet.data = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    if (this.#context.sendPacketSync(this.#packet) < 0) return null;
    this.#frame.unref();
    if (this.#context.receiveFrameSync(this.#frame) < 0) return null;
    if (this.#samples.nbSamples !== this.#frame.nbSamples) this.#renewSamples();
    if (this.#converter.convertFrame(this.#samples, this.#frame) < 0) return null;
    return littleEndianSamples(this.#samples.toBuffer() as Buffer<ArrayBuffer>);
  }

  #renewSamples(): void {
    this.#samples.unref();
    this.#samples.format = this.#format;
    this.#samples.sampleRate = this.#frame.sampleRate;
    this.#samples.channelLayout = this.#frame.channelLayout;
    this.#samples.nbSamples = this.#frame.nbSamples;
    this.#samples.getBuffer(0);
  }

  reset(): void {
    this.#context.flushBuffers();
  }

  close(): void {
    freeNatives(this.#context, this.#packet, this.#frame, this.#samples, this.#converter);
  }
}

/** Passes frames of speech to the decoder one by one; other frames become silence, which the decoder does not generate. */
class AmrDecoder implements SoundDecoder {
  readonly #codec: CodedSound;
  readonly #band: AmrBand;
  readonly #frameSamples: number;

  constructor(codec: CodedSound, { format, rate }: SoundSource) {
    this.#codec = codec;
    this.#band = format === 'amr_wide' ? 'wide' : 'narrow';
    this.#frameSamples = (rate * soundBlockMs) / 1000;
  }

  decode(payload: Uint8Array<ArrayBuffer>): Int16Array<ArrayBuffer> | null {
    const frames = parseAmr(payload, this.#band)?.frames ?? [];
    const samples = new Int16Array(frames.length * this.#frameSamples);
    for (const [index, frame] of frames.entries()) {
      if (frame === null) continue;
      const decoded = this.#codec.decode(frame);
      if (decoded?.length !== this.#frameSamples) return null;
      samples.set(decoded, index * this.#frameSamples);
    }
    return samples.length === 0 ? null : samples;
  }

  reset(): void {
    this.#codec.reset();
  }

  close(): void {
    this.#codec.close();
  }
}

/** Samples must lie at even addresses, and the bytes of a message may not: only then they are copied. */
function littleEndianSamples(bytes: Uint8Array<ArrayBuffer>): Int16Array<ArrayBuffer> | null {
  const { buffer, byteOffset, length } = bytes.byteOffset % 2 === 0 ? bytes : new Uint8Array(bytes);
  return length % 2 === 0 ? new Int16Array(buffer, byteOffset, length / 2) : null;
}
