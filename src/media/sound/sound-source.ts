/** The source of sound as described by its packets: the decoder they need, and its output format. Source: calls-and-media.md, Legs. */
import { isCarried, type SampleShape, type SoundPacket } from '../../model/media/sound.ts';
import { type AmrBand, parseAmr } from './amr-frames.ts';

export type SourceFormat = 'alaw' | 'pcm' | 'opus' | 'amr_narrow' | 'amr_wide';

export interface SoundSource extends SampleShape {
  readonly format: SourceFormat;
}

/** Opus always decodes to this rate. */
const opusRate = 48_000;
/** Stereo flag in the first byte of an Opus packet. Source: RFC 6716, 3.1. */
const opusStereoBit = 4;

/** `last`: source of the previous packet. Null: the packet is invalid. */
export function describeSound(
  { format, payload }: SoundPacket,
  assumed: SampleShape,
  last: SoundSource | null,
): SoundSource | null {
  if (payload.length === 0) return null;
  if (format === 'opus') return opusSource(payload, last);
  if (format === 'amr') return amrSource(payload, assumed, last);
  const { rate, channels } = assumed;
  const source = { format, rate, channels };
  return isCarried(source) ? source : null;
}

/** Encoders switch between mono and stereo at will: a stereo decoder handles both, a mono one is cheaper. */
function opusSource(payload: Uint8Array, last: SoundSource | null): SoundSource {
  const isStereo = ((payload[0] ?? 0) & opusStereoBit) !== 0;
  if (last?.format === 'opus' && (last.channels === 2 || !isStereo)) return last;
  return { format: 'opus', rate: opusRate, channels: isStereo ? 2 : 1 };
}

function amrSource(
  payload: Uint8Array<ArrayBuffer>,
  { rate }: SampleShape,
  last: SoundSource | null,
): SoundSource | null {
  const isWideLikely =
    last?.format.startsWith('amr') === true ? last.format === 'amr_wide' : rate > amrRates.narrow;
  const parsed = parseAmr(payload, isWideLikely ? 'wide' : 'narrow');
  return parsed && { format: `amr_${parsed.band}`, rate: amrRates[parsed.band], channels: 1 };
}

export const amrRates: Record<AmrBand, number> = { narrow: 8000, wide: 16_000 };
