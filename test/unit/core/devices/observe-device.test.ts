/** Connectivity among processes: by the rows that all of them write, and nobody is asked. Source: docs/cluster.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from '../../../../src/lib/fair-queue.ts';
import { rowViews } from '../../../../src/core/devices/observe-device.ts';
import {
  queryConnectivity,
  type ConnectivityAnswer,
  type ConnectivityDeps,
} from '../../../../src/core/devices/query-connectivity.ts';
import {
  batchQueueShape,
  queryConnectivityBatch,
} from '../../../../src/core/devices/query-connectivity-batch.ts';
import { WaitingReaders } from '../../../../src/core/events/waiting-readers.ts';
import type { DeviceRow } from '../../../../src/model/cluster.ts';
import type { ConnectivityRecord } from '../../../../src/model/connectivity.ts';
import { batchDevicesPerTurn } from '../../../../src/model/limits.ts';
import { ClusterScene } from '../../../support/cluster-scene.ts';
import { testApp, testDevice } from '../../../support/fakes.ts';

/** Processes of one node. */
class Processes extends ClusterScene {
  refreshes = 0;
  /** What others have heard of its sessions, and the rows do not say. Unix seconds. */
  heardAt: number | null = null;
  failure: Error | null = null;

  constructor() {
    super(['n1', 'n1', 'n1']);
  }

  depsOf(place: number): ConnectivityDeps {
    const { id, deps } = this.member(place);
    const rows = { refresh: () => void (this.refreshes += 1), heard: () => this.#heard() };
    return { ...deps, views: rowViews(id, rows) };
  }

  /** In the turn in which it is asked. */
  ask(place: number): ConnectivityAnswer {
    const answer = queryConnectivity(this.depsOf(place), testApp, testDevice);
    assert.ok(!(answer instanceof Promise), 'nothing is to be waited for');
    return answer;
  }

  observe(place: number): ConnectivityRecord {
    const answer = this.ask(place);
    assert.ok(answer.ok);
    return answer.value;
  }

  get nowS(): number {
    return Math.floor(this.clock.wallMs() / 1000);
  }

  #heard(): DeviceRow {
    if (this.failure !== null) throw this.failure;
    const { signal, sleep } = this.shared.row(testDevice);
    return { sleep, signal: { ...signal, lastHeartbeatAt: this.heardAt } };
  }
}

test('any process answers at once for a device that is at another, and nobody is asked', () => {
  const scene = new Processes();
  const loginS = scene.nowS;
  const { connection } = scene.member(0).comeOnline();
  connection.lastHeartbeatAt = loginS + 40;
  scene.heardAt = loginS + 39;
  const recordAt = (lastHeartbeatAt: number): ConnectivityRecord => ({
    deviceId: testDevice,
    signal: { isOnline: true, lastLoginAt: loginS, lastHeartbeatAt, lastOfflineAt: null },
    sleep: { lastLoginAt: null, lastHeartbeatAt: null, lastOfflineAt: null },
  });
  assert.deepEqual(scene.observe(0), recordAt(loginS + 40), 'its own process knows the second');
  for (const place of [1, 2]) assert.deepEqual(scene.observe(place), recordAt(loginS + 39));
  assert.equal(scene.network.asked.length, 0);
  assert.equal(scene.refreshes, 3, 'each query sees what was committed before it came');
});

test('sleep at one process and signal at another are one device at each of them', () => {
  const scene = new Processes();
  scene.member(0).sleep();
  scene.clock.advance(5000);
  const { session } = scene.member(1).comeOnline();
  for (const place of [0, 1, 2]) {
    const { signal, sleep } = scene.observe(place);
    assert.deepEqual(
      [signal.isOnline, signal.lastLoginAt, sleep.lastLoginAt],
      [true, scene.nowS, scene.nowS - 5],
    );
  }
  scene.member(1).end('signal', session);
  for (const place of [0, 1, 2]) {
    const { signal } = scene.observe(place);
    assert.deepEqual([signal.isOnline, signal.lastOfflineAt], [false, scene.nowS]);
  }
});

test('a session that is not committed is seen where it is, and nowhere else', () => {
  const scene = new Processes();
  scene.member(0).comeOnline({ isCommitted: false });
  assert.deepEqual(
    [0, 1].map((place) => scene.observe(place).signal.isOnline),
    [true, false],
  );
});

test('a session that has ended is not online where it was, though its row is behind', () => {
  const scene = new Processes();
  const { session } = scene.member(0).comeOnline();
  scene.member(0).end('signal', session, { isCommitted: false });
  const { signal } = scene.observe(0);
  assert.deepEqual([signal.isOnline, signal.lastOfflineAt], [false, scene.nowS]);
});

test('a login elsewhere is seen where the session is that it has replaced, before that process is told', () => {
  const scene = new Processes();
  scene.member(0).comeOnline();
  scene.clock.advance(9000);
  scene.network.fault(scene.member(0).id, 'stopped');
  scene.member(1).comeOnline();
  const { signal } = scene.observe(0);
  assert.deepEqual([signal.isOnline, signal.lastLoginAt], [true, scene.nowS]);
});

test('rows that cannot be read are 50301, never an empty record, and the log says why', () => {
  const scene = new Processes();
  scene.failure = new Error('gone');
  const answer = scene.ask(0);
  assert.equal(answer.ok ? 0 : answer.error.code, 50301);
  assert.equal(scene.member(0).log.lines.length, 1);
});

test('a batch sees what was committed before each of its slices, and asks nobody', async () => {
  const scene = new Processes();
  scene.member(0).comeOnline();
  const deps = {
    ...scene.depsOf(1),
    batches: new WaitingReaders(scene.clock, { max: 1, perApplicationMax: 1 }),
    queue: new FairQueue(batchQueueShape),
  };
  const count = batchDevicesPerTurn + 1;
  const answer = await queryConnectivityBatch(deps, {
    appId: testApp,
    deviceIds: Array.from({ length: count }, () => testDevice),
    onGone: () => undefined,
    entryOf: (_, told) => told.ok && told.value.signal.isOnline,
  });
  assert.deepEqual(answer, { ok: true, value: Array.from({ length: count }, () => true) });
  assert.deepEqual([scene.refreshes, scene.network.asked.length], [2, 0]);
});
