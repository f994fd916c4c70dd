/** What every implementation of the port ConnectionRecords keeps to; the stand-in of the tests is one of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { neverConnected, type ConnectionRecord } from '../../src/domain/connectivity.ts';
import type { DeviceId, SessionId } from '../../src/domain/ids.ts';
import type { ConnectionRecords } from '../../src/ports/connection-records.ts';
import { ConnectionRecordStore } from '../../src/store/connection-record-store.ts';
import { FakeRecords } from '../support/fakes.ts';
import { temporaryStore, type Ending } from '../support/temporary-store.ts';
import { draftOf, openJournal } from '../support/test-journal.ts';

interface Implementation {
  readonly records: ConnectionRecords;
  /** The epochs told with the events that are committed, in their order. */
  readonly events: () => Promise<unknown[]>;
}

function store(t: Ending): Implementation {
  const real = temporaryStore(t);
  const { journal, events } = openJournal(real);
  return {
    records: new ConnectionRecordStore(real.state, 'sleep', journal),
    async events() {
      await journal.allCommitted();
      return events.read(0, 100).map(({ data }) => data);
    },
  };
}

function standIn(): Implementation {
  const records = new FakeRecords();
  return { records, events: () => Promise.resolve(records.events.map(({ data }) => data)) };
}

const implementations: Record<string, (t: Ending) => Implementation> = { store, 'stand-in': standIn };

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
    assert.equal(make(t).records.read(device), null);
  });

  test(`${name}: the newest record is read, before its commit and after`, async (t) => {
    const { records } = make(t);
    records.write(device, record(1), draftOf(device));
    records.write(device, record(2), null);
    assert.deepEqual(records.read(device), record(2));
    await records.committed(device);
    assert.deepEqual(records.read(device), record(2));
    records.write(device, neverConnected, null);
    await records.allCommitted();
    assert.deepEqual(records.read(device), neverConnected);
  });

  test(`${name}: nothing is outstanding for a device once its record is committed`, async (t) => {
    const { records } = make(t);
    for (const event of [draftOf(device), null]) {
      records.write(device, record(1), event);
      await records.committed(device);
      assert.equal(records.committed(device), null);
    }
  });

  test(`${name}: devices do not touch each other`, async (t) => {
    const { records } = make(t);
    records.write(device, record(1), null);
    records.write(`${device}\0` as DeviceId, record(2), draftOf(device));
    assert.equal(records.read('TESTDEVICE0' as DeviceId), null);
    await records.allCommitted();
    assert.deepEqual(records.read(device), record(1));
    assert.deepEqual(records.read(`${device}\0` as DeviceId), record(2));
  });

  test(`${name}: the events of all changes are told, in the order of the changes, and of nothing else`, async (t) => {
    const { records, events } = make(t);
    for (let number = 1; number <= 9; number++)
      records.write(
        `device-${number % 2}` as DeviceId,
        record(number),
        number % 3 === 0 ? null : draftOf(device, number),
      );
    assert.deepEqual(
      await events(),
      [1, 2, 4, 5, 7, 8].map((number) => ({ request_id: `ring-${number}` })),
    );
  });
}
