/**
 * The common part of H.264 and H.265: a frame is described without decoding it, by its NAL units, and the size of its
 * pictures is cropped. They differ in their headers and parameter sets, which their own files read. Source:
 * calls-and-media.md, Legs and Resolution; ITU-T H.264, 7.4.2.1.1, and H.265, 7.4.3.2.1.
 */
import type { Size } from '../../model/call.ts';
import type { FrameContent } from '../../model/picture.ts';
import { nextNalUnit, RbspReader } from './nal-units.ts';

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
 * `bytes`: an Annex B access unit, of which nothing is kept. Slices come last in it, and all are of a key frame or none
 * is: the first one tells, and the bulk of the frame is not read.
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

/** Columns and rows of luma to one of chroma, by chroma_format_idc: none, 4:2:0, 4:2:2, 4:4:4. */
const chromaSteps = [
  { columns: 1, rows: 1 },
  { columns: 2, rows: 2 },
  { columns: 2, rows: 1 },
  { columns: 1, rows: 1 },
] as const;

/**
 * Reads a cropping flag and, behind it, what is cut off left, right, top and bottom, in steps of chroma; of rows a step
 * is `rowsPerStep` times that. Null: broken, or nothing is left.
 */
export function readCroppedSize(
  reader: RbspReader,
  coded: Size,
  chromaFormat: number,
  rowsPerStep: number,
): Size | null {
  const steps = chromaSteps[chromaFormat];
  const isCropped = reader.bit() === 1;
  const columns = isCropped ? reader.unsigned() + reader.unsigned() : 0;
  const rows = isCropped ? reader.unsigned() + reader.unsigned() : 0;
  if (steps === undefined || reader.isBroken) return null;
  const width = coded.width - columns * steps.columns;
  const height = coded.height - rows * steps.rows * rowsPerStep;
  return width > 0 && height > 0 ? { width, height } : null;
}
