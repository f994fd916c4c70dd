/** Batches of connectivity queries: each device is answered like a single query, and batches are scheduled fairly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from '../../../../src/lib/collections/fair-queue.ts';
import type { ApplicationId, DeviceId } from '../../../../src/model/ids.ts';
import {
  batchDevicesMax,
  batchDevicesPerTurn,
  connectivityQueryMsMax,
  ownerQueryMsMax,
} from '../../../../src/model/limits.ts';
import { WaitingReaders } from '../../../../src/core/events/waiting-readers.ts';
import type { ConnectivityDeps } from '../../../../src/core/devices/query-connectivity.ts';
import {
  batchQueueShape,
  queryConnectivityBatch,
  type ConnectivityBatchDeps,
} from '../../../../src/core/devices/query-connectivity-batch.ts';
import { ClusterScene, now, untilIdle } from '../../../support/cluster-scene.ts';
import { otherApp, testApp, testDevice } from '../../../support/fakes.ts';
import { SessionScene } from '../../../support/session-scene.ts';

const turn = (): Promise<void> => new Promise(setImmediate);

function batchDeps(deps: ConnectivityDeps): ConnectivityBatchDeps {
  const batches = new WaitingReaders(deps.clock, { max: 3, perApplicationMax: 2 });
  return { ...deps, batches, queue: new FairQueue(batchQueueShape) };
}

/** `id:code` of each entry, in their order; `+` behind it: online. Or the code of the whole. */
async function ask(
  deps: ConnectivityBatchDeps,
  deviceIds: readonly string[],
  { appId = testApp, onGone = (): void => undefined }: { appId?: ApplicationId; onGone?: OnGone } = {},
): Promise<readonly string[] | number> {
  const answer = await queryConnectivityBatch(deps, {
    appId,
    deviceIds,
    onGone,
  });
  if (!answer.ok) return answer.error.code;
  return answer.value.map((told, place) =>
    told.ok
      ? `${deviceIds[place]}:0${told.value.signal.isOnline ? '+' : ''}`
      : `${deviceIds[place]}:${told.error.code}`,
  );
}

type OnGone = (listener: () => void) => void;

function ids(count: number): DeviceId[] {
  return Array.from({ length: count }, (_, index) => `D${index}` as DeviceId);
}

test('each device has its own code and its own record, in the order asked, a repeated one each time', async () => {
  const scene = new SessionScene();
  scene.signal.login();
  scene.registry.addDevice({ deviceId: 'EXPIRED' as DeviceId, expiresAt: 1 });
  scene.registry.addDevice({ deviceId: 'ASLEEP' as DeviceId });
  const asked = ['NOBODY', testDevice, '', 'EXPIRED', 'ASLEEP', testDevice, 'x'.repeat(256)];
  assert.deepEqual(await ask(batchDeps(scene.deps), asked), [
    'NOBODY:40403',
    `${testDevice}:0+`,
    ':40003',
    'EXPIRED:40304',
    'ASLEEP:0',
    `${testDevice}:0+`,
    `${'x'.repeat(256)}:40003`,
  ]);
  assert.deepEqual(await ask(batchDeps(scene.deps), [testDevice], { appId: otherApp }), [
    `${testDevice}:40302`,
  ]);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a store that cannot be read is 50301 for each device that needs it, and one line of the log', async () => {
  const scene = new SessionScene();
  scene.registry.addDevice({ deviceId: 'D2' as DeviceId });
  scene.sleepRecords.failure = new Error('gone');
  assert.deepEqual(await ask(batchDeps(scene.deps), [testDevice, 'NOBODY', 'D2']), [
    `${testDevice}:50301`,
    'NOBODY:40403',
    'D2:50301',
  ]);
  assert.equal(scene.log.lines.length, 1);
});

test('a device that is not committed within 2 s of the batch is 50401, the others are answered', async () => {
  const scene = new SessionScene();
  const never = new Promise<void>(() => undefined);
  scene.signalRecords.committed = (deviceId?: DeviceId) => (deviceId === testDevice ? never : null);
  const answer = ask(batchDeps(scene.deps), ['NOBODY', testDevice]);
  await turn();
  scene.clock.advance(connectivityQueryMsMax - 1);
  assert.equal(await now(answer), 'still waiting');
  scene.clock.advance(1);
  assert.deepEqual(await answer, ['NOBODY:40403', `${testDevice}:50401`]);
});

test('a batch that gets no turn within 2 s is 50401 throughout, and leaves its slot at its turn', async () => {
  const scene = new SessionScene();
  const deps = batchDeps(scene.deps);
  const answer = ask(deps, ids(2));
  scene.clock.advance(connectivityQueryMsMax);
  assert.deepEqual(await answer, ['D0:50401', 'D1:50401']);
  assert.equal(deps.batches.size, 1);
  await turn();
  await turn();
  assert.equal(deps.batches.size, 0);
});

test('a large batch is queried over several turns of the loop, and another application runs in between', async () => {
  const scene = new SessionScene();
  const deps = batchDeps(scene.deps);
  const order: string[] = [];
  const large = [0, 1].map(() => ask(deps, ids(batchDevicesMax)).then(() => order.push('large')));
  const small = ask(deps, ['X'], { appId: otherApp }).then(() => order.push('small'));
  assert.ok(batchDevicesPerTurn < batchDevicesMax, 'it takes more than one turn');
  await Promise.all([...large, small]);
  assert.deepEqual(order, ['small', 'large', 'large']);
});

test('more batches at once than one application may have are 42901, another is not slowed by it', async () => {
  const deps = batchDeps(new SessionScene().deps);
  const taken = [ask(deps, ['D']), ask(deps, ['D'])];
  assert.equal(await ask(deps, ['D']), 42901);
  assert.deepEqual(await ask(deps, ['D'], { appId: otherApp }), ['D:40403']);
  await Promise.all(taken);
  await turn();
  assert.deepEqual(await ask(deps, ['D']), ['D:40403']);
});

test('a batch ends when its caller disconnects', async () => {
  const scene = new SessionScene();
  const deps = batchDeps(scene.deps);
  let looks = 0;
  const findDevice = scene.registry.findDevice.bind(scene.registry);
  scene.registry.findDevice = (deviceId) => {
    looks += 1;
    return findDevice(deviceId);
  };
  let hangUp = (): void => assert.fail('nobody listens');
  const answer = ask(deps, ids(batchDevicesMax), { onGone: (listener) => (hangUp = listener) });
  await turn();
  const before = looks;
  assert.ok(before > 0 && before < batchDevicesMax);
  hangUp();
  assert.deepEqual(await answer, []);
  await turn();
  assert.deepEqual([looks, deps.batches.size, scene.clock.pendingTimers], [before, 0, 0]);
});

class BatchCluster extends ClusterScene {
  readonly devices = ids(6);

  constructor() {
    super();
    for (const deviceId of this.devices) this.registry.addDevice({ deviceId });
  }

  /** The devices of even numbers are online at the first member, the others at the second; the third is asked. */
  connectAll(): void {
    for (const [place, deviceId] of this.devices.entries())
      this.member(place % 2).connectController({ deviceId });
  }

  ask(): Promise<readonly string[] | number> {
    return ask(batchDeps(this.member(2).deps), this.devices);
  }
}

test('each other member is asked once for all of its devices', async () => {
  const scene = new BatchCluster();
  scene.connectAll();
  assert.deepEqual(
    await scene.ask(),
    scene.devices.map((id) => `${id}:0+`),
  );
  const asked = scene.network.asked.map(({ to, what }) => [to, 'deviceIds' in what ? what.deviceIds : null]);
  assert.deepEqual(asked, [
    [scene.member(0).id, ['D0', 'D2', 'D4']],
    [scene.member(1).id, ['D1', 'D3', 'D5']],
  ]);
});

test('devices of a silent member are answered from the shared rows, those of the others by their members', async () => {
  const scene = new BatchCluster();
  scene.connectAll();
  scene.network.fault(scene.member(0).id, 'stopped');
  const answer = scene.ask();
  await turn();
  await untilIdle();
  assert.equal(scene.shared.keptFinds, 0);
  scene.clock.advance(ownerQueryMsMax);
  assert.deepEqual(
    await answer,
    scene.devices.map((id) => `${id}:0+`),
  );
  assert.equal(scene.shared.keptFinds, 3);
});

test('devices that have moved meanwhile are located again, and their new owner is asked once', async () => {
  const scene = new BatchCluster();
  scene.connectAll();
  scene.shared.beforeFind = () => {
    scene.shared.beforeFind = () => undefined;
    // After all rows are read: the members that are asked have been superseded by then.
    queueMicrotask(() => {
      for (const deviceId of ['D0', 'D2'] as DeviceId[]) scene.member(1).connectController({ deviceId });
    });
  };
  assert.deepEqual(
    await scene.ask(),
    scene.devices.map((id) => `${id}:0+`),
  );
  const again = scene.network.asked
    .slice(2)
    .map(({ to, what }) => [to, 'deviceIds' in what && what.deviceIds]);
  assert.deepEqual(again, [[scene.member(1).id, ['D0', 'D2']]]);
});
