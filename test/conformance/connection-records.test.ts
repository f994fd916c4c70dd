/** What every implementation of the port ConnectionRecords keeps to; the stand-in of the tests is one of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { neverConnected, type ConnectionRecord } from '../../src/domain/connectivity.ts';
import type { DeviceId, SessionId } from '../../src/domain/ids.ts';
import type { ConnectionRecords } from '../../src/ports/connection-records.ts';
import { ConnectionRecordStore } from '../../src/store/connection-record-store.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeRecords } from '../support/fakes.ts';
import { temporaryStore, type Ending } from '../support/temporary-store.ts';

const settings = { clock: new DrivenClock(), backlogMax: 1000 };
const implementations: Record<string, (t: Ending) => ConnectionRecords> = {
  store: (t) => new ConnectionRecordStore(temporaryStore(t).state, 'sleep', settings),
  'stand-in': () => new FakeRecords(),
};

const device = 'TESTDEVICE01' as DeviceId;
const record = (epoch: number): ConnectionRecord => ({
  epoch,
  lastLoginAt: epoch * 10,
  lastHeartbeatAt: null,
  lastOfflineAt: epoch * 10 - 1,
  openSession: `session-${epoch}` as SessionId,
});

for (const [name, make] of Object.entries(implementations)) {
  test(`${name}: a device that never logged in has no record`, (t) => {
    assert.equal(make(t).read(device), null);
  });

  test(`${name}: the newest record is read, before its commit and after`, async (t) => {
    const records = make(t);
    records.write(device, record(1));
    records.write(device, record(2));
    assert.deepEqual(records.read(device), record(2));
    await records.committed(device);
    assert.deepEqual(records.read(device), record(2));
    records.write(device, neverConnected);
    await records.allCommitted();
    assert.deepEqual(records.read(device), neverConnected);
  });

  test(`${name}: nothing is outstanding for a device once its record is committed`, async (t) => {
    const records = make(t);
    records.write(device, record(1));
    await records.committed(device);
    assert.equal(records.committed(device), null);
  });

  test(`${name}: devices do not touch each other`, async (t) => {
    const records = make(t);
    records.write(device, record(1));
    records.write(`${device}\0` as DeviceId, record(2));
    assert.equal(records.read('TESTDEVICE0' as DeviceId), null);
    await records.allCommitted();
    assert.deepEqual(records.read(device), record(1));
    assert.deepEqual(records.read(`${device}\0` as DeviceId), record(2));
  });
}
