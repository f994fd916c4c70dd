import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallRepository } from '../../../../src/cluster/records/call-repository.ts';
import { deviceHash } from '../../../../src/cluster/nats/nats-names.ts';
import { WakeupRepository } from '../../../../src/cluster/records/wakeup-repository.ts';
import { encodeDeviceCalls } from '../../../../src/protocol/cluster/stored-values.ts';
import type { DeviceCalls, MemberId } from '../../../../src/model/cluster.ts';
import type { DeviceId, RequestId, WakeupId } from '../../../../src/model/ids.ts';
import type { WakeupRecord } from '../../../../src/model/wakeup.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, latestOf, testApp, testDevice } from '../../../support/fakes.ts';
import { MemoryKvStore } from '../../../support/memory-kv-store.ts';
import { acceptedWakeup } from '../../../support/stored-wakeups.ts';

const calls: DeviceCalls = { node: 'node-a/0@1' as MemberId, calls: [], lost: [] };
const request = 'request' as RequestId;

function deps() {
  return { kv: new MemoryKvStore(), clock: new DrivenClock(), log: new FakeLog() };
}

test('a question that NATS does not answer in its time is given up', async () => {
  const parts = deps();
  parts.kv.find = () => new Promise(() => undefined);
  const repositories = [
    new WakeupRepository(parts).find(latestOf(testApp, request), 800),
    new CallRepository(parts).find(testDevice),
  ];
  parts.clock.advance(800);
  for (const found of repositories) await assert.rejects(found, { name: 'SharedStateUnavailable' });
  assert.equal(parts.clock.pendingTimers, 0);
});

test('a wakeup that nobody kept is none, and what cannot be read is told of', async () => {
  const parts = deps();
  const repository = new WakeupRepository(parts);
  assert.equal(await repository.find(latestOf(testApp, request), 800), null);
  parts.kv.find = async (key) => ({ key, value: Buffer.from('rubbish'), revision: 1 });
  assert.equal(await repository.find(latestOf(testApp, request), 800), null);
  assert.equal(parts.log.lines[0]?.level, 'error');
  assert.equal(parts.clock.pendingTimers, 0);
});

test('the latest of a request id is named once, whichever write is faster', async () => {
  const parts = deps();
  const repository = new WakeupRepository(parts);
  const gate = 'GATE01' as DeviceId;
  const ids = ['wakeup-1', 'wakeup-2', 'wakeup-3'] as WakeupId[];
  const [first, second, third] = ids.map((id, number) =>
    acceptedWakeup({ id, deviceId: number === 1 ? gate : testDevice }),
  ) as [WakeupRecord, WakeupRecord, WakeupRecord];
  const put = (one: WakeupRecord, isFirst = true): Promise<void> =>
    repository.put({ appId: testApp, requestId: request, record: one, isFirst });
  await Promise.all([put(third), put(second), put(first)]);
  await put({ ...first, status: 'expired' }, false);
  const latest = async (of?: DeviceId): Promise<string | undefined> =>
    (await repository.find(latestOf(testApp, request, of), 800))?.id;
  assert.deepEqual(
    [await latest(), await latest(testDevice), await latest(gate)],
    [third.id, third.id, second.id],
  );
  const named = { appId: testApp, requestId: request, which: first.id };
  assert.equal((await repository.find(named, 800))?.status, 'expired');
  assert.deepEqual(parts.log.lines, []);
});

test('a request id that is new is written without being read, and one that is not is read once', async () => {
  const parts = deps();
  const repository = new WakeupRepository(parts);
  const find = parts.kv.find.bind(parts.kv);
  let reads = 0;
  parts.kv.find = (key) => {
    reads += 1;
    return find(key);
  };
  const put = async (id: string): Promise<number> => {
    reads = 0;
    const record = acceptedWakeup({ id: id as WakeupId, deviceId: testDevice });
    await repository.put({ appId: testApp, requestId: request, record, isFirst: true });
    return reads;
  };
  const pointers = 2;
  assert.deepEqual([await put('wakeup-2'), await put('wakeup-3')], [0, pointers]);
  assert.equal(await put('wakeup-3'), pointers, 'told again after an answer of NATS that was lost');
  assert.equal(await put('wakeup-1'), pointers);
  assert.equal((await repository.find(latestOf(testApp, request), 800))?.id, 'wakeup-3');
});

test("a device's calls are changed by the node that knows their newest revision", async () => {
  const parts = deps();
  const repository = new CallRepository(parts);
  assert.equal(await repository.put(testDevice, calls, null), true);
  assert.equal(await repository.put(testDevice, calls, null), false);
  const found = await repository.find(testDevice);
  assert.deepEqual(found, { ...calls, revision: found?.revision });
  assert.equal(await repository.put(testDevice, calls, found?.revision ?? null), true);
  const all = [];
  for await (const stored of repository.all()) all.push(stored);
  assert.deepEqual(all, [{ deviceId: testDevice, calls }]);
});

test("a row under a device's key that is another device's is not found", async () => {
  const parts = deps();
  await parts.kv.put(deviceHash(testDevice), encodeDeviceCalls('another' as DeviceId, calls));
  assert.equal(await new CallRepository(parts).find(testDevice), null);
});

test('while NATS is away no device is said to have no call', async () => {
  const parts = deps();
  parts.kv.isUnavailable = true;
  await assert.rejects(new CallRepository(parts).find(testDevice), { name: 'SharedStateUnavailable' });
});
