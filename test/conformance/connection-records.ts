/** Conformance of the port ConnectionRecords; the fake of the tests has to pass, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteTextOf } from '../../src/lib/utf8.ts';
import { neverConnected, type ConnectionRecord } from '../../src/model/connectivity.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import { writeHeartbeat, writeEnd, writeLogin, type ConnectionPlace } from '../support/connection-changes.ts';
import { inOrder, type KeptRecords, type MakeKeptRecords } from '../support/kept-records.ts';

const device = 'TESTDEVICE01' as DeviceId;
const node = 'node-1';
const nowS = Math.floor(Date.now() / 1000);

function placeOf({ sleep }: KeptRecords, deviceId = device): ConnectionPlace {
  return { records: sleep, kind: 'sleep', deviceId, node };
}

const idOf = (number: number): SessionId => `session-${number}` as SessionId;

function login(kept: KeptRecords, number: number, deviceId = device): void {
  writeLogin(placeOf(kept, deviceId), idOf(number), (nowS + number) * 1000);
}

/** Ends the session a second after its login, the time of its last heartbeat. */
function end(kept: KeptRecords, number: number, deviceId = device): void {
  writeEnd(placeOf(kept, deviceId), idOf(number), (nowS + number + 1) * 1000, nowS + number);
}

function opened(epoch: number, number = epoch): ConnectionRecord {
  return { ...neverConnected, epoch, lastLoginAt: nowS + number, openSession: idOf(number) };
}

export function connectionRecordsConformance(name: string, make: MakeKeptRecords): void {
  test(`${name}: a device that never logged in has no record`, async (t) => {
    const { sleep } = await make(t);
    assert.equal(sleep.read(device), null);
    assert.equal(sleep.committed(device), null);
  });

  test(`${name}: the newest record is read, before and after its commit`, async (t) => {
    const kept = await make(t);
    const { sleep } = kept;
    login(kept, 1);
    login(kept, 2);
    assert.deepEqual(sleep.read(device), opened(2));
    await sleep.committed(device);
    assert.deepEqual(sleep.read(device), opened(2));
    writeHeartbeat(placeOf(kept), idOf(2), nowS + 2);
    const refreshed = { ...opened(2), lastHeartbeatAt: nowS + 2 };
    assert.deepEqual(sleep.read(device), refreshed);
    await sleep.allCommitted();
    assert.deepEqual(sleep.read(device), refreshed);
    end(kept, 2);
    assert.equal(sleep.read(device)?.openSession, null);
    await kept.committedEvents();
    assert.equal(sleep.read(device)?.openSession, null);
  });

  test(`${name}: a record outlives its session, and the next login continues its epoch`, async (t) => {
    const kept = await make(t);
    login(kept, 1);
    end(kept, 1);
    const ended = { ...opened(1), openSession: null, lastHeartbeatAt: nowS + 1, lastOfflineAt: nowS + 2 };
    assert.deepEqual(kept.sleep.read(device), ended);
    await kept.committedEvents();
    assert.deepEqual(kept.sleep.read(device), ended);
    login(kept, 5);
    const next = { ...ended, epoch: 2, lastLoginAt: nowS + 5, openSession: idOf(5) };
    assert.deepEqual(kept.sleep.read(device), next);
    await kept.committedEvents();
    assert.deepEqual(kept.sleep.read(device), next);
  });

  test(`${name}: no commit is pending for a device once its record is committed`, async (t) => {
    const kept = await make(t);
    const changes = [
      () => login(kept, 1),
      () => writeHeartbeat(placeOf(kept), idOf(1), nowS + 2),
      () => end(kept, 1),
    ];
    for (const change of changes) {
      change();
      await kept.sleep.committed(device);
      assert.equal(kept.sleep.committed(device), null);
    }
  });

  test(`${name}: devices are independent`, async (t) => {
    const kept = await make(t);
    const other = `${device}\0` as DeviceId;
    login(kept, 1);
    login(kept, 2, other);
    assert.equal(kept.sleep.read('TESTDEVICE0' as DeviceId), null);
    await kept.sleep.allCommitted();
    end(kept, 2, other);
    await kept.committedEvents();
    assert.deepEqual(kept.sleep.read(device), opened(1));
    assert.equal(kept.sleep.read(other)?.openSession, null);
  });

  test(`${name}: the ids with a record are listed within bounds, before and after their commit`, async (t) => {
    const kept = await make(t);
    const ids = ['D1', 'D2', 'D\u00e9', 'D\uffee', 'D\u{1f514}'] as DeviceId[];
    for (const [at, id] of ids.entries()) login(kept, at, id);
    const sorted = ids.map(byteTextOf);
    const bounds = ['D2', 'D\uffee'].map(byteTextOf) as [string, string];
    for (const state of ['uncommitted', 'committed']) {
      assert.deepEqual(kept.sleep.ids('D', 'E'), sorted, state);
      assert.deepEqual(kept.sleep.ids(...bounds), sorted.slice(1, 4), state);
      assert.deepEqual(kept.sleep.ids('E', 'F'), [], state);
      await kept.sleep.allCommitted();
    }
    end(kept, 1, ids[1]);
    assert.deepEqual(kept.sleep.ids('D', 'E'), sorted);
  });

  test(`${name}: exactly the events of all changes are published, in order`, async (t) => {
    const kept = await make(t);
    const expected = [];
    for (let number = 1; number <= 9; number++) {
      const deviceId = `device-${number % 2}` as DeviceId;
      const epoch = Math.ceil(number / 2);
      login(kept, number, deviceId);
      expected.push({ deviceId, type: 'device.sleep.login', epoch, session: idOf(number) });
      writeHeartbeat(placeOf(kept, deviceId), idOf(number), nowS + number);
      if (number % 3 > 0) continue;
      end(kept, number, deviceId);
      expected.push({ deviceId, type: 'device.sleep.offline', epoch, session: idOf(number) });
    }
    const published = (await kept.committedEvents()).map(({ deviceId, type, epoch, data }) => {
      return { deviceId, type, epoch, session: 'session' in data ? data.session : null };
    });
    assert.deepEqual(inOrder(kept, published), inOrder(kept, expected));
  });
}
