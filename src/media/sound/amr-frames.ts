/**
 * Frames of AMR in a packet, one behind the other in storage form: an octet that tells their kind, then their data. They
 * tell narrow and wide band by their lengths. Source: RFC 4867, 5.3; 3GPP TS 26.101 and 26.201.
 */
import { soundBlockMs, soundPacketMsMax } from '../../model/media/sound-limits.ts';

export type AmrBand = 'narrow' | 'wide';

/** Bytes of a frame's data by its kind; kinds that are not here are reserved. Speech comes first. */
const dataBytes: Record<AmrBand, readonly number[]> = {
  narrow: [12, 13, 15, 17, 19, 20, 26, 31, 5],
  wide: [17, 23, 32, 36, 40, 46, 50, 58, 60, 5],
};
const framesMax = soundPacketMsMax / soundBlockMs;
/** Speech that was lost, of wide band, and a frame of nothing. */
const [lostKind, emptyKind] = [14, 15];

export interface AmrPacket {
  readonly band: AmrBand;
  /** In turn, each with its octet; null: there is no speech in it, which stands for silence. */
  readonly frames: readonly (Uint8Array<ArrayBuffer> | null)[];
}

/** `likely`: taken where both would do. Null: it is neither, or too long. */
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

/** With its octet; null: it is of no kind. */
function frameBytes(kind: number, band: AmrBand): number | null {
  if (kind === emptyKind || (kind === lostKind && band === 'wide')) return 1;
  const bytes = dataBytes[band][kind];
  return bytes === undefined ? null : bytes + 1;
}

/** The last kind that has data describes noise between words. */
function isSpeech(kind: number, band: AmrBand): boolean {
  return kind < dataBytes[band].length - 1;
}
