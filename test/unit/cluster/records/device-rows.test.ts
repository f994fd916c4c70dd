import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceRows, RowUnreadable } from '../../../../src/cluster/records/device-rows.ts';
import { deviceHash } from '../../../../src/cluster/nats/nats-names.ts';
import { rowTriesMax } from '../../../../src/cluster/records/row-limits.ts';
import { encodeDeviceRow } from '../../../../src/protocol/cluster/stored-values.ts';
import {
  neverShared,
  reduceShared,
  type SharedEvent,
} from '../../../../src/model/state/shared-connection.ts';
import type { MemberId, SharedConnection } from '../../../../src/model/cluster.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { MemoryBucket } from '../../../support/memory-kv-store.ts';
import { device, untilIdle } from '../../../support/ownership-scene.ts';

const otherDevice = 'TESTDEVICE02' as DeviceId;
const login: SharedEvent = {
  kind: 'login',
  member: 'A/0@1' as MemberId,
  node: 'A',
  session: 's1' as SessionId,
  atMs: 1_000_000,
  isLate: false,
};
const step = (row: SharedConnection) => reduceShared('signal', row, login);

function deps() {
  const bucket = new MemoryBucket();
  const way = bucket.open();
  const clock = new DrivenClock();
  return { bucket, way, clock, rows: new DeviceRows(way, clock, () => 0.5) };
}

test('a device that never logged in has an empty row', async () => {
  const { rows } = deps();
  assert.deepEqual(await rows.find(device), { sleep: neverShared, signal: neverShared });
});

test('a change is read again, and leaves the other connection as it was', async () => {
  const { rows } = deps();
  await rows.change(device, 'signal', step);
  await rows.change(device, 'sleep', (row) => reduceShared('sleep', row, login));
  const { sleep, signal } = await rows.find(device);
  assert.deepEqual([sleep.epoch, signal.epoch], [1, 1]);
});

test('a change that another was faster than is made to the newer row', async () => {
  const { bucket, way, rows } = deps();
  const newer = { sleep: neverShared, signal: { ...neverShared, epoch: 7 } };
  way.beforePut = (key) => {
    way.beforePut = () => undefined;
    bucket.write(key, encodeDeviceRow(device, newer));
  };
  const { row } = await rows.change(device, 'signal', step);
  assert.equal(row.epoch, 8);
});

test('a change that others are always faster than fails', async () => {
  const { bucket, way, clock, rows } = deps();
  way.beforePut = (key) => {
    bucket.write(key, encodeDeviceRow(device, { sleep: neverShared, signal: neverShared }));
  };
  const changed = rows.change(device, 'signal', step);
  const failed = assert.rejects(changed, new RegExp(`${rowTriesMax} times`));
  for (let tries = 0; tries < rowTriesMax; tries++) {
    await untilIdle();
    clock.advance(20);
  }
  await failed;
  assert.equal(bucket.revision, rowTriesMax);
});

test('a change that changes nothing is not written', async () => {
  const { bucket, rows } = deps();
  await rows.change(device, 'signal', step);
  const { outcome } = await rows.change(device, 'signal', step);
  assert.ok(outcome.kind === 'claimed' && !outcome.isNew);
  assert.equal(bucket.revision, 1);
});

test('a row of another device, or no row at all, is refused', async () => {
  const { bucket, rows } = deps();
  const row = { sleep: neverShared, signal: neverShared };
  bucket.write(deviceHash(device), encodeDeviceRow(otherDevice, row));
  await assert.rejects(rows.find(device), RowUnreadable);
  bucket.write(deviceHash(device), Buffer.from('row'));
  await assert.rejects(rows.change(device, 'signal', step), RowUnreadable);
});

test('a row that was deleted by hand is an empty one', async () => {
  const { bucket, rows } = deps();
  bucket.write(deviceHash(device), new Uint8Array());
  const { row } = await rows.change(device, 'signal', step);
  assert.equal(row.epoch, 1);
});
