/** Conformance of the port CallRecords; the fake of the tests has to pass, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallSession } from '../../src/model/call.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { CallRecords } from '../../src/core/ports/records.ts';
import { inOrder, sharedCall, type MakeKeptRecords } from '../support/kept-records.ts';
import { audioCall, callOf, endOf, videoCall } from '../support/stored-calls.ts';

const device = videoCall.deviceId;
const sessions: readonly CallSession[] = [videoCall, audioCall];

const strangeIds = [
  'TESTDEVICE0',
  `${device}\0`,
  '\ufeff',
  '\ufeffTESTDEVICE01',
  `\ufeff${'é'.repeat(126)}`,
  'x'.repeat(65),
  'x'.repeat(255),
  '\u{1f600}'.repeat(63),
].map((id) => id as DeviceId);

function byDevice(records: CallRecords): Map<DeviceId, readonly CallSession[]> {
  const found = Array.from(records.all(), ({ deviceId, sessions }) => [deviceId, sessions] as const);
  const devices = new Map(found);
  assert.equal(devices.size, found.length, 'no device twice');
  return devices;
}

export function callRecordsConformance(name: string, make: MakeKeptRecords): void {
  test(`${name}: a device without live sessions has none`, async (t) => {
    const { calls: records } = await make(t);
    assert.deepEqual(records.read(device), []);
    assert.deepEqual(Array.from(records.all()), []);
    assert.equal(records.committed(device), null);
  });

  test(`${name}: sessions are read unchanged and in order, before and after their commit`, async (t) => {
    const { calls: records } = await make(t);
    for (const written of [sessions, sessions.toReversed(), [audioCall]]) {
      records.write(device, written, null);
      assert.deepEqual(records.read(device), written);
      assert.deepEqual(byDevice(records), new Map([[device, written]]));
      await records.committed(device);
      assert.equal(records.committed(device), null);
      assert.deepEqual(records.read(device), written);
      assert.deepEqual(byDevice(records), new Map([[device, written]]));
    }
  });

  test(`${name}: a device without sessions is removed, before and after the commit`, async (t) => {
    const { calls: records } = await make(t);
    records.write(device, sessions, null);
    await records.committed(device);
    records.write(device, [], endOf(videoCall));
    assert.deepEqual(records.read(device), []);
    assert.deepEqual(Array.from(records.all()), []);
    await records.committed(device);
    assert.deepEqual(records.read(device), []);
    assert.deepEqual(Array.from(records.all()), []);
  });

  test(`${name}: devices with any ids are independent`, async (t) => {
    const { calls: records } = await make(t);
    for (const id of strangeIds) {
      records.write(id, [callOf(id)], null);
      assert.deepEqual(records.read(id), [callOf(id)]);
    }
    assert.deepEqual(records.read(device), []);
    for (const id of strangeIds) await records.committed(id);
    for (const id of strangeIds) assert.deepEqual(records.read(id), [callOf(id)]);
    assert.deepEqual(byDevice(records), new Map(strangeIds.map((id) => [id, [callOf(id)]])));
  });

  test(`${name}: all devices are listed, each with its newest state`, async (t) => {
    const { calls: records } = await make(t);
    const ids = ['kept', 'changed', 'ended', 'new', 'passing'] as DeviceId[];
    const [kept, changed, ended, fresh, passing] = ids as [DeviceId, DeviceId, DeviceId, DeviceId, DeviceId];
    for (const id of [kept, changed, ended]) records.write(id, [callOf(id)], null);
    for (const id of [kept, changed, ended]) await records.committed(id);
    records.write(changed, [callOf(changed, audioCall)], null);
    records.write(ended, [], endOf(callOf(ended)));
    records.write(fresh, [callOf(fresh)], null);
    records.write(passing, [callOf(passing)], null);
    records.write(passing, [], endOf(callOf(passing)));
    const expected = new Map([
      [kept, [callOf(kept)]],
      [changed, [callOf(changed, audioCall)]],
      [fresh, [callOf(fresh)]],
    ]);
    assert.deepEqual(byDevice(records), expected);
  });

  test(`${name}: a caller that changes listed devices meets none twice`, async (t) => {
    const { calls: records } = await make(t);
    const ids = Array.from({ length: 20 }, (_, i) => `device-${i}` as DeviceId);
    for (const id of ids) records.write(id, [callOf(id), callOf(id, audioCall)], null);
    for (const id of ids.slice(0, 10)) await records.committed(id);
    for (const id of ids.slice(10)) records.write(id, [callOf(id)], null);
    const seen: DeviceId[] = [];
    for (const { deviceId, sessions } of records.all()) {
      seen.push(deviceId);
      records.write(deviceId, sessions.slice(1), endOf(callOf(deviceId)));
    }
    assert.deepEqual(seen.toSorted(), ids.toSorted());
    for (const id of ids) await records.committed(id);
    assert.equal(byDevice(records).size, 10);
  });

  test(`${name}: exactly the events of all changes are published, in order`, async (t) => {
    const kept = await make(t);
    const ended = Array.from({ length: 9 }, (_, number) => ({
      ...callOf(`device-${number % 2}` as DeviceId),
      sessionId: `session-${number}` as CallSession['sessionId'],
    }));
    for (const [number, session] of ended.entries())
      kept.calls.write(session.deviceId, [session], number % 3 === 0 ? null : endOf(session));
    const published = (await kept.committedEvents()).map(({ deviceId, data }) => {
      return { deviceId, session: 'session' in data ? data.session : null };
    });
    const expected = ended
      .filter((_, number) => number % 3 > 0)
      .map(({ deviceId, sessionId: session }) => ({ deviceId, session }));
    assert.deepEqual(inOrder(kept, published), inOrder(kept, expected));
  });

  test(`${name}: other members find the newest state, until it is removed`, async (t) => {
    const kept = await make(t);
    for (const written of [sessions, [audioCall], []]) {
      kept.calls.write(device, written, null);
      await kept.committedEvents();
      assert.deepEqual(await kept.recallCalls(device), written.map(sharedCall));
    }
    assert.deepEqual(await kept.recallCalls('another' as DeviceId), []);
  });

  test(`${name}: an empty store is not overloaded`, async (t) => {
    assert.equal((await make(t)).calls.isOverloaded(), false);
  });
}
