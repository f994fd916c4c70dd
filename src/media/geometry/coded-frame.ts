/**
 * What can be told of a frame of H.264 or H.265 without decoding it. The two differ in their headers and parameter
 * sets, which their own files read. Source: calls-and-media.md, Legs and Resolution.
 */
import type { Size } from '../../model/call.ts';
import { nextNalUnit } from './nal-units.ts';
import { RbspReader } from './rbsp-reader.ts';

/** `parameters`: what decoders are told beside pictures, and no picture; `nothing`: nothing that is known. */
export type FrameContent = 'picture' | 'parameters' | 'nothing';

export interface CodedFrame {
  readonly content: FrameContent;
  /** A decoder can start at it, if it has the parameter sets. */
  readonly hasKey: boolean;
  /** What its sequence parameter sets say, the largest of them; null: it has none that can be read. */
  readonly size: Size | null;
}

/** `sequence`: the parameter set that tells the size; `parameters`: another one; `message`: what a decoder may do without. */
export type NalKind = 'key_slice' | 'slice' | 'sequence' | 'parameters' | 'message' | 'unknown';

export interface NalSyntax {
  readonly headerBytes: number;
  /** `at`: the first byte of a NAL unit. */
  kindOf(bytes: Uint8Array, at: number): NalKind;
  /** `reader` is behind the header of a sequence parameter set. Null: it is broken. */
  sizeOf(reader: RbspReader): Size | null;
}

/** As many as there can be ids; of more in one frame the rest is not looked at. */
const sequencesMax = 32;

/**
 * `bytes`: an Annex B access unit, of which none is kept. Slices come last in it, and all are of a key frame or none is:
 * at the first one it is known, and the bulk of the frame is not looked at.
 */
export function describeCodedFrame(bytes: Uint8Array, syntax: NalSyntax): CodedFrame {
  let size: Size | null = null;
  let content: FrameContent = 'nothing';
  let sequences = 0;
  for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at)) {
    const kind = syntax.kindOf(bytes, at);
    if (kind === 'key_slice' || kind === 'slice')
      return { content: 'picture', hasKey: kind === 'key_slice', size };
    if (kind !== 'unknown') content = 'parameters';
    if (kind === 'sequence' && sequences < sequencesMax) {
      sequences += 1;
      size = larger(size, syntax.sizeOf(new RbspReader(bytes, at + syntax.headerBytes)));
    }
  }
  return { content, hasKey: false, size };
}

function larger(one: Size | null, other: Size | null): Size | null {
  if (one === null || other === null) return one ?? other;
  return one.width * one.height >= other.width * other.height ? one : other;
}
