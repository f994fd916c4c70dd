/** A core is killed and replaced: sessions that the store has, and sessions that it lacks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionTicket } from '../../../src/core/ports/device-sessions.ts';
import type { EdgeGate } from '../../../src/edge/edge-gate.ts';
import { EdgeScene, untilIdle, type SceneEdge } from '../../support/edge-scene.ts';
import { testDevice } from '../../support/fakes.ts';

class Restart {
  readonly scene = new EdgeScene();
  readonly edges: readonly SceneEdge[] = ['edge-1', 'edge-2'].map((name) =>
    this.scene.edge({ name, instance: name }),
  );
  #committed = new Map(this.scene.core.sleepRecords.records);
  #told = 0;

  static async begin(): Promise<Restart> {
    const restart = new Restart();
    for (const edge of restart.edges) await edge.link();
    return restart;
  }

  /** Commits everything until now; later changes are lost with the core. */
  commit(): void {
    this.#committed = new Map(this.scene.core.sleepRecords.records);
    this.#told = this.scene.core.events.length;
  }

  /** The next core, before any edge has reconnected. */
  async kill(): Promise<EdgeGate> {
    const { core } = this.scene;
    void this.scene.gate.close();
    await untilIdle();
    core.sleepRecords.records.clear();
    for (const [deviceId, record] of this.#committed) core.sleepRecords.records.set(deviceId, record);
    core.events.splice(this.#told);
    return this.scene.restart();
  }

  get session(): SessionTicket['sessionId'] | null {
    return this.scene.core.directory.find(testDevice)?.session('sleep') ?? null;
  }
}

function edge({ edges }: Restart, number: 1 | 2): SceneEdge {
  const found = edges[number - 1];
  assert.ok(found !== undefined);
  return found;
}

test('an admitted but uncommitted login is recovered with a new epoch', async () => {
  const restart = await Restart.begin();
  const module = await edge(restart, 1).login();
  assert.equal(module.ticket.epoch, 1);
  await edge(restart, 1).link(await restart.kill());
  assert.deepEqual(restart.scene.history(), ['opened 1']);
  const [recovered] = restart.scene.core.events;
  assert.ok(recovered?.type === 'device.sleep.login');
  assert.equal(recovered.data.recovered, true);
  assert.deepEqual([module.ticket.epoch, module.ticket.sessionId], [1, restart.session]);
  assert.deepEqual(module.connection.closes, []);
  await edge(restart, 1).hangUp(module);
  assert.deepEqual(restart.scene.history(), ['opened 1', 'closed 1 peer_closed']);
});

test('a recovered login replaces the open session of the store, in any order of their edges', async () => {
  for (const order of [[1, 2] as const, [2, 1] as const]) {
    const restart = await Restart.begin();
    const older = await edge(restart, 1).login();
    restart.commit();
    // The order to close the older connection does not reach its edge.
    await edge(restart, 1).cut();
    const newer = await edge(restart, 2).login();
    assert.deepEqual([older.ticket.epoch, newer.ticket.epoch], [1, 2]);
    const gate = await restart.kill();
    for (const number of order) await edge(restart, number).link(gate);
    assert.deepEqual([older.connection.closes, newer.connection.closes], [['replaced'], []], String(order));
    assert.deepEqual(restart.scene.history(), ['opened 1', 'replaced 2']);
    assert.deepEqual([newer.ticket.sessionId, newer.ticket.epoch], [restart.session, 2]);
    assert.equal(gate.sessionCount, 1);
  }
});

test('a login at the new core wins over an older session that another edge resumes later', async () => {
  const restart = await Restart.begin();
  const older = await edge(restart, 1).login();
  restart.commit();
  const gate = await restart.kill();
  await edge(restart, 2).link(gate);
  const newer = await edge(restart, 2).login();
  await edge(restart, 1).link(gate);
  assert.deepEqual([older.connection.closes, newer.connection.closes], [['replaced'], []]);
  assert.deepEqual(restart.scene.history(), ['opened 1', 'replaced 2']);
});

test('a login at the new core wins over an uncommitted one with the same epoch', async () => {
  const restart = await Restart.begin();
  const older = await edge(restart, 1).login();
  const gate = await restart.kill();
  await edge(restart, 2).link(gate);
  const newer = await edge(restart, 2).login();
  await edge(restart, 1).link(gate);
  assert.deepEqual([older.ticket.epoch, newer.ticket.epoch], [1, 1]);
  assert.deepEqual([older.connection.closes, newer.connection.closes], [['replaced'], []]);
  assert.deepEqual(restart.scene.history(), ['opened 1']);
});

test('a session with an uncommitted end stays open until the core stops waiting for edges', async () => {
  const restart = await Restart.begin();
  const module = await edge(restart, 1).login();
  restart.commit();
  await edge(restart, 1).hangUp(module);
  await edge(restart, 1).link(await restart.kill());
  assert.equal(restart.session, null);
  assert.equal(restart.scene.core.sleepRecords.read(testDevice)?.openSession, module.ticket.sessionId);
});
