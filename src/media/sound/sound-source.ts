/**
 * The source of sound as its packets tell it: which decoder they need, and what comes out of it. Source:
 * calls-and-media.md, Legs.
 */
import { isCarried, type SampleShape, type SoundPacket } from '../../model/media/sound.ts';
import { type AmrBand, parseAmr } from './amr-frames.ts';

export type SourceFormat = 'alaw' | 'pcm' | 'opus' | 'amr_narrow' | 'amr_wide';

export interface SoundSource extends SampleShape {
  readonly format: SourceFormat;
}

/** What Opus decodes to, whatever it was made of. */
const opusRate = 48_000;
/** In an Opus packet's first byte. Source: RFC 6716, 3.1. */
const opusStereoBit = 4;

/** `last`: of the packet before. Null: the packet is of no source. */
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

/** Encoders change between one channel and two as they like: a decoder of two does for both, one of one is cheaper. */
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
