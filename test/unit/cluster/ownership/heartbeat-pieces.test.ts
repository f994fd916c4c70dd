import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodePiece, encodePieces } from '../../../../src/cluster/ownership/written-heartbeats.ts';
import { heartbeatPieceBytesMax } from '../../../../src/cluster/records/row-limits.ts';
import type { DeviceHeartbeat } from '../../../../src/protocol/cluster/stored-values.ts';
import { generateSessionId, type DeviceId } from '../../../../src/model/ids.ts';

function heartbeats(count: number, idLength: number): DeviceHeartbeat[] {
  return Array.from({ length: count }, (_, index) => ({
    deviceId: `${index}`.padStart(idLength, 'x') as DeviceId,
    connection: index % 2 === 0 ? 'sleep' : 'signal',
    session: generateSessionId(),
    heartbeatAt: index,
  }));
}

function decoded(pieces: readonly Uint8Array[]) {
  return pieces.map((bytes) => {
    const piece = decodePiece(bytes);
    assert.ok(piece.ok);
    return piece.value;
  });
}

test('a part without sessions is one piece that says so', () => {
  assert.deepEqual(decoded(encodePieces(7, [])), [{ position: 7, pieces: 1, heartbeats: [] }]);
});

test('a part comes back as it was', () => {
  const written = heartbeats(100, 12);
  assert.deepEqual(decoded(encodePieces(2 ** 40, written)), [
    { position: 2 ** 40, pieces: 1, heartbeats: written },
  ]);
});

test('a large part is cut, no piece is too large, and nothing is lost', () => {
  const written = heartbeats(10_000, 255);
  const pieces = encodePieces(1, written);
  assert.ok(pieces.length > 1);
  assert.ok(pieces.every(({ length }) => length <= heartbeatPieceBytesMax));
  const read = decoded(pieces);
  assert.ok(read.every((piece) => piece.pieces === pieces.length));
  assert.deepEqual(
    read.flatMap((piece) => piece.heartbeats),
    written,
  );
});

test('a piece that is cut short, of another version, or says nonsense is refused', () => {
  const [whole] = encodePieces(1, heartbeats(3, 12));
  assert.ok(whole !== undefined);
  for (let length = 0; length < whole.length; length++)
    assert.equal(decodePiece(whole.subarray(0, length)).ok, false, `${length} bytes`);
  assert.equal(decodePiece(Buffer.from([2, ...whole.subarray(1)])).ok, false);
  const none = Buffer.from(whole);
  none.writeUInt16BE(0, 7);
  assert.equal(decodePiece(none).ok, false);
});
