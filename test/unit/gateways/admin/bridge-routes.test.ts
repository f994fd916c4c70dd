import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Bridge } from '../../../../src/model/registry.ts';
import { registryRoutes } from '../../../../src/gateways/admin/registry-routes.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../../../src/storage/registry/registry-write.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { testApp } from '../../../support/fakes.ts';
import { temporaryStore, type Ending } from '../../../support/temporary-store.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly rules = { allowShortSecrets: false };
  readonly writer: RegistryWriter;
  changes = 0;
  readonly #registry: RegistryStore;

  constructor(t: Ending) {
    const tables = temporaryStore(t).registry;
    this.#registry = new RegistryStore(tables);
    this.writer = new RegistryWriter(tables, this.#registry);
  }

  get bridges(): readonly Bridge[] {
    return this.#registry.page('bridge', 10);
  }

  changed(): void {
    this.changes += 1;
  }

  changedEntry(): void {}

  forgetDerivedKeys(): void {}

  ask(path: string, body: unknown): Promise<RouteReply> {
    return askRoute(registryRoutes(this), 'POST', path, body);
  }

  async addApplication(): Promise<void> {
    await this.writer.put('application', { appId: testApp, name: 'an application' });
  }

  async add(bridgeId = 'bridge-1'): Promise<{ readonly bridge: object; readonly key: string }> {
    await this.addApplication();
    const { status, body } = await this.ask('/v1/bridge/add', { bridge_id: bridgeId, app_ids: [testApp] });
    assert.equal(status, 200);
    return body as { bridge: object; key: string };
  }
}

test('a bridge gets a key of 256 bits, of which only the hash is stored', async (t) => {
  const scene = new Scene(t);
  const { bridge, key } = await scene.add();
  assert.match(key, /^[\w-]{43}$/);
  const keySha256 = createHash('sha256').update(key).digest('hex');
  assert.deepEqual(bridge, {
    bridge_id: 'bridge-1',
    key_sha256: keySha256,
    app_ids: [testApp],
    revoked: false,
  });
  assert.equal(scene.bridges[0]?.keySha256, keySha256);
  assert.notEqual((await scene.add('bridge-2')).key, key);
});

test('a bridge is revoked and restored, and each time the connected ones are checked again', async (t) => {
  const scene = new Scene(t);
  await scene.add();
  assert.equal(scene.changes, 1);
  const revoked = await scene.ask('/v1/bridge/revoke', { bridge_id: 'bridge-1' });
  assert.equal((revoked.body as { bridge: { revoked: boolean } }).bridge.revoked, true);
  assert.equal(scene.changes, 2);
  await scene.ask('/v1/bridge/revoke', { bridge_id: 'bridge-1', revoked: false });
  assert.deepEqual([scene.bridges[0]?.revoked, scene.changes], [false, 3]);
});

test('a removed bridge is deleted, and the connected ones are checked again', async (t) => {
  const scene = new Scene(t);
  await scene.add();
  const { status } = await scene.ask('/v1/bridge/remove', { bridge_id: 'bridge-1' });
  assert.deepEqual([status, scene.bridges.length, scene.changes], [200, 0, 2]);
  assert.equal((await scene.ask('/v1/bridge/remove', { bridge_id: 'bridge-1' })).status, 404);
});

test('a change of a missing entry is 404 and changes nothing', async (t) => {
  const scene = new Scene(t);
  await scene.addApplication();
  const ofNobody = { bridge_id: 'bridge-1', app_ids: [testApp, 'nobody'] };
  assert.deepEqual(await scene.ask('/v1/bridge/add', ofNobody), {
    status: 404,
    body: { error: 'no application "nobody" in the registry' },
  });
  assert.deepEqual(await scene.ask('/v1/bridge/revoke', { bridge_id: 'nobody' }), {
    status: 404,
    body: { error: 'no bridge "nobody" in the registry' },
  });
  assert.deepEqual([scene.bridges.length, scene.changes], [0, 0]);
});
