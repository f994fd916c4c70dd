/**
 * Sound encoders: each makes a packet of every 20 ms of samples. A-law and PCM need no library. libavcodec encodes Opus, and AMR if it
 * was built with an encoder; otherwise a package encodes narrow-band AMR. Source: calls-and-media.md, Legs.
 */
import type { FFEncoderCodec } from 'node-av/constants';
import type { CodecContext, Frame, Packet } from 'node-av/lib';
import {
  soundEncodings,
  type SampleShape,
  type SoundEncoding,
  type SoundShape,
} from '../../model/media/sound.ts';
import { soundBlockMs } from '../../model/media/sound-limits.ts';
import { encodeAlaw } from '../sound/alaw.ts';
import { amrRates } from '../sound/sound-source.ts';
import { hasAmrLibrary, openAmrStream } from './amr-library.ts';
import { channelLayoutOf, engineFor, type Engine } from './engine.ts';
import { freeNatives, makeFrame, makePacket, openCodec } from './native-census.ts';

export interface SoundEncoder {
  /** `samples`: 20 ms, interleaved. The packet owns its buffer. Null: it failed. */
  encode(samples: Int16Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null;
  close(): void;
}

interface Encoding {
  readonly encoder: FFEncoderCodec;
  readonly bitRate: number;
  readonly options: Readonly<Record<string, string>>;
}

/** Bit rate of one Opus channel by sample rate: with less, two channels merge into one, and a tone is distorted. */
const opusBitRates: ReadonlyMap<number, number> = new Map([
  [8000, 24_000],
  [16_000, 24_000],
  [48_000, 32_000],
]);
/** The highest rates: lower ones are audibly worse. */
const [amrNarrowBitRate, amrWideBitRate] = [12_200, 23_850];

/** Encodings that this machine can make. `hasLibrary`: the package for narrow-band AMR is installed. */
export function encodableSound(
  { av, constants }: Engine,
  hasLibrary = hasAmrLibrary(),
): readonly SoundEncoding[] {
  const has = (encoder: FFEncoderCodec): boolean => av.Codec.findEncoderByName(encoder) !== null;
  const isThere: Readonly<Record<SoundEncoding, boolean>> = {
    alaw: true,
    amr: has(constants.FF_ENCODER_LIBOPENCORE_AMRNB) || hasLibrary,
    opus: has(constants.FF_ENCODER_LIBOPUS),
    pcm: true,
    amr_wide: has(constants.FF_ENCODER_LIBVO_AMRWBENC),
  };
  return soundEncodings.filter((encoding) => isThere[encoding]);
}

/** Throws if the engine has no such encoder. `engine`: null allows A-law and PCM only. `target`: AMR is mono. */
export function openSoundEncoder(engine: Engine | null, target: SoundShape): SoundEncoder {
  const { format } = target;
  if (format === 'alaw') return { encode: encodeAlaw, close: noop };
  if (format === 'pcm') return { encode: bytesOf, close: noop };
  const opened = engineFor(format, engine);
  const encoding = format === 'amr' ? amrEncoding(opened, target) : opusEncoding(opened, target);
  if (encoding === null) throw new Error(`there is no ${format} of ${target.rate} Hz`);
  const isThere = opened.av.Codec.findEncoderByName(encoding.encoder) !== null;
  return !isThere && isNarrowAmr(target) ? openAmr() : new CodedSoundEncoder(opened, encoding, target);
}

function isNarrowAmr({ format, rate }: SoundShape): boolean {
  return format === 'amr' && rate === amrRates.narrow;
}

function openAmr(): SoundEncoder {
  const stream = openAmrStream(amrNarrowBitRate / 1000);
  return { encode: (samples) => stream.encode(samples), close: noop };
}

class CodedSoundEncoder implements SoundEncoder {
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #frame: Frame;
  #moments = 0n;

  constructor(engine: Engine, { encoder, bitRate, options }: Encoding, { rate, channels }: SampleShape) {
    const { av, constants } = engine;
    const codec = av.Codec.findEncoderByName(encoder);
    this.#context = openCodec(engine, codec, 'encoder of such sound', (context) => {
      context.sampleRate = rate;
      context.sampleFormat = constants.AV_SAMPLE_FMT_S16;
      context.channelLayout = channelLayoutOf(engine, channels);
      context.timeBase = new av.Rational(1, rate);
      context.bitRate = BigInt(bitRate);
      for (const [name, value] of Object.entries(options)) context.setOption(name, value);
    });
    this.#packet = makePacket(engine);
    this.#frame = makeFrame(engine);
    this.#frame.format = this.#context.sampleFormat;
    this.#frame.sampleRate = rate;
    this.#frame.channelLayout = this.#context.channelLayout;
    this.#frame.nbSamples = (rate * soundBlockMs) / 1000;
    this.#frame.getBuffer(0);
  }

  encode({ buffer, byteOffset, byteLength }: Int16Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null {
    this.#frame.makeWritable();
    if (this.#frame.fromBuffer(Buffer.from(buffer, byteOffset, byteLength)) < 0) return null;
    this.#frame.pts = this.#moments;
    this.#moments += BigInt(this.#frame.nbSamples);
    if (this.#context.sendFrameSync(this.#frame) < 0) return null;
    this.#packet.unref();
    if (this.#context.receivePacketSync(this.#packet) < 0) return null;
    const { data } = this.#packet;
    return data === null ? null : new Uint8Array(data);
  }

  close(): void {
    freeNatives(this.#context, this.#packet, this.#frame);
  }
}

function opusEncoding({ constants }: Engine, { rate, channels }: SampleShape): Encoding | null {
  const bitRate = opusBitRates.get(rate);
  if (bitRate === undefined) return null;
  const options = { application: 'voip' };
  return { encoder: constants.FF_ENCODER_LIBOPUS, bitRate: bitRate * channels, options };
}

function amrEncoding({ constants }: Engine, { rate }: SampleShape): Encoding | null {
  const { FF_ENCODER_LIBOPENCORE_AMRNB: narrow, FF_ENCODER_LIBVO_AMRWBENC: wide } = constants;
  if (rate === amrRates.narrow) return { encoder: narrow, bitRate: amrNarrowBitRate, options: {} };
  return rate === amrRates.wide ? { encoder: wide, bitRate: amrWideBitRate, options: {} } : null;
}

/** s16le: all machines that FFmpeg's binary supports are little-endian. */
function bytesOf({ buffer, byteOffset, byteLength }: Int16Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength));
}

function noop(): void {
  // It has no native objects.
}
