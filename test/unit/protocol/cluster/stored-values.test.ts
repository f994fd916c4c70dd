import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, succeed } from '../../../../src/lib/result.ts';
import {
  decodeHeartbeats,
  decodeDeviceRow,
  encodeHeartbeats,
  encodeDeviceRow,
  type DeviceHeartbeat,
} from '../../../../src/protocol/cluster/stored-values.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { peerMessageBytesMax, sleepSlotsMax } from '../../../../src/model/limits.ts';
import { testDevice } from '../../../support/fakes.ts';
import { storedRow, storedValues } from '../../../support/stored-values.ts';

for (const { name, value, bytes, decode } of storedValues) {
  test(`${name} is decoded unchanged`, () => {
    assert.deepEqual(decode(bytes), succeed(value));
  });

  test(`${name} is refused when a part is missing, or of another version`, () => {
    for (let length = 0; length < bytes.length; length += 1)
      assert.equal(decode(bytes.subarray(0, length)).ok, false);
    const other = Uint8Array.from(bytes);
    other[0] = 2;
    assert.deepEqual(decode(other), fail('version 2, this member speaks 1'));
  });
}

test('no kind of value is mistaken for another', () => {
  for (const { bytes, name, decode: own } of storedValues)
    for (const { decode, name: other } of storedValues)
      assert.equal(decode(bytes).ok, decode === own, `${name} as ${other}`);
});

test('a row has at most the slots that a device may have', () => {
  const [slot] = storedRow.row.sleep.slots;
  assert.ok(slot);
  const rowOf = (sleep: number, signal: number) => ({
    sleep: { ...storedRow.row.sleep, slots: Array.from({ length: sleep }, () => slot) },
    signal: { ...storedRow.row.signal, slots: Array.from({ length: signal }, () => slot) },
  });
  const isRead = (sleep: number, signal: number): boolean =>
    decodeDeviceRow(encodeDeviceRow(testDevice, rowOf(sleep, signal))).ok;
  assert.deepEqual(
    [isRead(sleepSlotsMax, 1), isRead(sleepSlotsMax + 1, 1), isRead(1, 2)],
    [true, false, false],
  );
});

test('the last heartbeats are omitted if there is no room', () => {
  const heartbeats = Array.from({ length: 20_000 }, (_, at): DeviceHeartbeat => ({
    deviceId: `device ${at} ${'é'.repeat(at % 100)}` as DeviceId,
    connection: at % 2 === 0 ? 'sleep' : 'signal',
    session: '0193f1c2-0000-7000-8000-000000000001' as SessionId,
    heartbeatAt: 1_763_627_400 + at,
  }));
  const bytes = encodeHeartbeats(heartbeats);
  const read = decodeHeartbeats(bytes);
  assert.ok(read.ok && read.value.length > 3000 && bytes.length > peerMessageBytesMax / 2);
  assert.deepEqual(read.value, heartbeats.slice(0, read.value.length));
});
