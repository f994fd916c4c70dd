import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, succeed } from '../../../../src/lib/result.ts';
import { decodeDeviceRow, encodeDeviceRow } from '../../../../src/protocol/cluster/stored-values.ts';
import { sleepSlotsMax } from '../../../../src/model/limits.ts';
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
