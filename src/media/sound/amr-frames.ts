/**
 * AMR frames of a packet in storage format: an octet with the frame's kind, then its data. Narrow and wide band differ by their frame
 * lengths. Source: RFC 4867, 5.3; 3GPP TS 26.101 and 26.201.
 */
import { soundBlockMs, soundPacketMsMax } from '../../model/media/sound-limits.ts';

export type AmrBand = 'narrow' | 'wide';

/** Bytes of a frame's data by kind; other kinds are reserved. Speech kinds come first. */
const dataBytes: Record<AmrBand, readonly number[]> = {
  narrow: [12, 13, 15, 17, 19, 20, 26, 31, 5],
  wide: [17, 23, 32, 36, 40, 46, 50, 58, 60, 5],
};
const framesMax = soundPacketMsMax / soundBlockMs;
/** Lost speech, which only wide band has, and an empty frame. */
const [lostKind, emptyKind] = [14, 15];

export interface AmrPacket {
  readonly band: AmrBand;
  /** In order, each with its octet; null: no speech, which stands for silence. */
  readonly frames: readonly (Uint8Array<ArrayBuffer> | null)[];
}

/** `likely`: preferred if both bands fit. Null: neither fits, or the packet is too long. */
export function parseAmr(payload: Uint8Array<ArrayBuffer>, likely: AmrBand): AmrPacket | null {
  const other = likely === 'wide' ? 'narrow' : 'wide';
  return parseBand(payload, likely) ?? parseBand(payload, other);
}

function parseBand(payload: Uint8Array<ArrayBuffer>, band: AmrBand): AmrPacket | null {
  const frames: (Uint8Array<ArrayBuffer> | null)[] = [];
  for (let at = 0; at < payload.length;) {
    const kind = ((payload[at] ?? 0) >> 3) & 15;
    const bytes = frameBytes(kind, band);
    if (bytes === null || at + bytes > payload.length || frames.length === framesMax) return null;
    frames.push(isSpeech(kind, band) ? payload.subarray(at, at + bytes) : null);
    at += bytes;
  }
  return frames.length === 0 ? null : { band, frames };
}

/** Including the octet; null: reserved kind. */
function frameBytes(kind: number, band: AmrBand): number | null {
  if (kind === emptyKind || (kind === lostKind && band === 'wide')) return 1;
  const bytes = dataBytes[band][kind];
  return bytes === undefined ? null : bytes + 1;
}

/** The last kind with data describes comfort noise. */
function isSpeech(kind: number, band: AmrBand): boolean {
  return kind < dataBytes[band].length - 1;
}
