/**
 * One part of a member's heartbeats, as the values that are kept of it: one, or several where it is large. Each says of
 * which position among the rows the part is, and how many pieces there are: 1 byte version, 6 position, 2 pieces, then
 * the heartbeats. Source: cluster.md, Record.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import {
  decodeHeartbeats,
  encodeHeartbeats,
  type DeviceHeartbeat,
} from '../../protocol/cluster/stored-values.ts';
import { heartbeatPieceBytesMax, heartbeatPiecesMax } from '../records/row-limits.ts';

export interface HeartbeatPiece {
  /** Slots taken in rows up to this revision are in the part, if they are not left again. */
  readonly position: number;
  readonly pieces: number;
  readonly heartbeats: readonly DeviceHeartbeat[];
}

const pieceVersion = 1;
const headBytes = 9;
/** What a heartbeat takes beside its ids, at most. */
const heartbeatBytesMax = 64;

/** At least one. Heartbeats for which `heartbeatPiecesMax` leave no room are left out: what is kept of them is older for it. */
export function encodePieces(position: number, heartbeats: readonly DeviceHeartbeat[]): Uint8Array[] {
  const lists = cut(heartbeats).slice(0, heartbeatPiecesMax);
  return lists.map((list) => {
    const head = Buffer.alloc(headBytes);
    head.writeUInt8(pieceVersion);
    head.writeUIntBE(position, 1, 6);
    head.writeUInt16BE(lists.length, 7);
    return Buffer.concat([head, encodeHeartbeats(list)]);
  });
}

/** Or what is wrong with the bytes. */
export function decodePiece(bytes: Uint8Array): Result<HeartbeatPiece, string> {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < headBytes) return fail(`${bytes.length} bytes`);
  if (head.readUInt8() !== pieceVersion) return fail(`version ${head.readUInt8()}`);
  const pieces = head.readUInt16BE(7);
  if (pieces === 0 || pieces > heartbeatPiecesMax) return fail(`${pieces} pieces`);
  const heartbeats = decodeHeartbeats(bytes.subarray(headBytes));
  if (!heartbeats.ok) return heartbeats;
  return succeed({ position: head.readUIntBE(1, 6), pieces, heartbeats: heartbeats.value });
}

function cut(heartbeats: readonly DeviceHeartbeat[]): DeviceHeartbeat[][] {
  let piece: DeviceHeartbeat[] = [];
  const pieces = [piece];
  let bytes = headBytes + heartbeatBytesMax;
  for (const heartbeat of heartbeats) {
    const more = Buffer.byteLength(heartbeat.deviceId) + heartbeat.session.length + heartbeatBytesMax;
    if (bytes + more > heartbeatPieceBytesMax) {
      pieces.push((piece = []));
      bytes = headBytes + heartbeatBytesMax;
    }
    piece.push(heartbeat);
    bytes += more;
  }
  return pieces;
}
