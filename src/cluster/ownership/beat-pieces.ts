/**
 * One part of a member's heartbeats, as the values that are kept of it: one, or several where it is large. Each says of
 * which position among the rows the part is, and how many pieces there are: 1 byte version, 6 position, 2 pieces, then
 * the beats. Source: cluster.md, Record.
 */
import { fail, succeed, type Outcome } from '../../lib/outcome.ts';
import { decodeBeats, encodeBeats, type DeviceBeat } from '../../protocol/cluster/stored-values.ts';
import { beatPieceBytesMax, beatPiecesMax } from '../records/row-limits.ts';

export interface BeatPiece {
  /** Seats taken in rows up to this revision are in the part, if they are not left again. */
  readonly position: number;
  readonly pieces: number;
  readonly beats: readonly DeviceBeat[];
}

const pieceVersion = 1;
const headBytes = 9;
/** What a beat takes beside its ids, at most. */
const beatBytesMax = 64;

/** At least one. Beats for which `beatPiecesMax` leave no room are left out: what is kept of them is older for it. */
export function encodePieces(position: number, beats: readonly DeviceBeat[]): Uint8Array[] {
  const lists = cut(beats).slice(0, beatPiecesMax);
  return lists.map((list) => {
    const head = Buffer.alloc(headBytes);
    head.writeUInt8(pieceVersion);
    head.writeUIntBE(position, 1, 6);
    head.writeUInt16BE(lists.length, 7);
    return Buffer.concat([head, encodeBeats(list)]);
  });
}

/** Or what is wrong with the bytes. */
export function decodePiece(bytes: Uint8Array): Outcome<BeatPiece, string> {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < headBytes) return fail(`${bytes.length} bytes`);
  if (head.readUInt8() !== pieceVersion) return fail(`version ${head.readUInt8()}`);
  const pieces = head.readUInt16BE(7);
  if (pieces === 0 || pieces > beatPiecesMax) return fail(`${pieces} pieces`);
  const beats = decodeBeats(bytes.subarray(headBytes));
  if (!beats.ok) return beats;
  return succeed({ position: head.readUIntBE(1, 6), pieces, beats: beats.value });
}

function cut(beats: readonly DeviceBeat[]): DeviceBeat[][] {
  let piece: DeviceBeat[] = [];
  const pieces = [piece];
  let bytes = headBytes + beatBytesMax;
  for (const beat of beats) {
    const more = Buffer.byteLength(beat.deviceId) + beat.session.length + beatBytesMax;
    if (bytes + more > beatPieceBytesMax) {
      pieces.push((piece = []));
      bytes = headBytes + beatBytesMax;
    }
    piece.push(beat);
    bytes += more;
  }
  return pieces;
}
