/**
 * Frames of H.264: whether one can be started at, and how large its pictures are. Source: ITU-T H.264, 7.3.1 and
 * 7.4.1; calls-and-media.md, Legs.
 */
import { describeCodedFrame, type CodedFrame, type NalKind, type NalSyntax } from './coded-frame.ts';
import { readSequence } from './h264-sequence.ts';

/** By nal_unit_type. 1-4 are slices and their parts, 7 and 8 parameter sets, 13 an extension and 15 a kin of theirs. */
const kinds: ReadonlyMap<number, NalKind> = new Map([
  [1, 'slice'],
  [2, 'slice'],
  [3, 'slice'],
  [4, 'slice'],
  [5, 'key_slice'],
  [6, 'message'],
  [7, 'sequence'],
  [8, 'parameters'],
  [9, 'message'],
  [10, 'message'],
  [11, 'message'],
  [12, 'message'],
  [13, 'parameters'],
  [15, 'parameters'],
]);

/** `bytes`: an Annex B access unit. A key frame is an IDR picture. */
export function describeH264(bytes: Uint8Array): CodedFrame {
  return describeCodedFrame(bytes, h264);
}

export const h264: NalSyntax = {
  headerBytes: 1,
  kindOf: (bytes, at) => kinds.get((bytes[at] ?? 0) & 0x1f) ?? 'unknown',
  sizeOf: (reader) => readSequence(reader)?.size ?? null,
};
