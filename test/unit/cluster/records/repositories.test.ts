import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallRepository } from '../../../../src/cluster/records/call-repository.ts';
import { deviceHash } from '../../../../src/cluster/nats/nats-names.ts';
import { WakeupRepository } from '../../../../src/cluster/records/wakeup-repository.ts';
import { encodeDeviceCalls } from '../../../../src/protocol/cluster/stored-values.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { DeviceId, RequestId } from '../../../../src/model/ids.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, testApp, testDevice } from '../../../support/fakes.ts';
import { MemoryKvStore } from '../../../support/memory-kv-store.ts';

const coordinator = 'node-a/0@1' as MemberId;
const claim = { coordinator, sessions: [], isIssuing: true };
const request = 'request' as RequestId;

function deps() {
  return { kv: new MemoryKvStore(), clock: new DrivenClock(), log: new FakeLog() };
}

test('a question that NATS does not answer in its time is given up', async () => {
  const parts = deps();
  parts.kv.find = () => new Promise(() => undefined);
  const repositories = [
    new WakeupRepository(parts).find(testApp, request, 800),
    new CallRepository(parts).find(testDevice, 800),
  ];
  parts.clock.advance(800);
  for (const found of repositories) await assert.rejects(found, { name: 'SharedStateUnavailable' });
  assert.equal(parts.clock.pendingTimers, 0);
});

test('a wakeup that nobody kept is none, and what cannot be read is told of', async () => {
  const parts = deps();
  const repository = new WakeupRepository(parts);
  assert.equal(await repository.find(testApp, request, 800), null);
  parts.kv.find = async (key) => ({ key, value: Buffer.from('rubbish'), revision: 1 });
  assert.equal(await repository.find(testApp, request, 800), null);
  assert.equal(parts.log.lines[0]?.level, 'error');
  assert.equal(parts.clock.pendingTimers, 0);
});

test("a device's calls are changed by the one who knows their newest revision", async () => {
  const parts = deps();
  const repository = new CallRepository(parts);
  assert.equal(await repository.put(testDevice, claim, null), 'done');
  assert.equal(await repository.put(testDevice, claim, null), 'conflict');
  const found = await repository.find(testDevice, 800);
  assert.deepEqual(found, { ...claim, deviceId: testDevice, revision: found?.revision });
  assert.equal(await repository.put(testDevice, claim, found?.revision ?? null), 'done');
});

test("what stands under a device's key and is another device's is not its", async () => {
  const parts = deps();
  const value = encodeDeviceCalls({ deviceId: 'another' as DeviceId, ...claim });
  await parts.kv.put(deviceHash(testDevice), value);
  assert.equal(await new CallRepository(parts).find(testDevice, 800), null);
});

test('while NATS is away nobody is told that there is no call', async () => {
  const parts = deps();
  parts.kv.isUnavailable = true;
  await assert.rejects(new CallRepository(parts).find(testDevice, 800), { name: 'SharedStateUnavailable' });
});
