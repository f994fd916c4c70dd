import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { fail, succeed } from '../../../../src/lib/result.ts';
import type { Bridge } from '../../../../src/model/registry.ts';
import type { AdminReply } from '../../../../src/gateways/ops/admin-route.ts';
import { bridgeRoutes, type BridgeDeps } from '../../../../src/gateways/admin/bridge-routes.ts';
import { askRoute } from '../../../support/ask-route.ts';
import { testApp } from '../../../support/fakes.ts';

class Scene implements BridgeDeps {
  readonly bridges = new Map<string, Bridge>();
  changes = 0;

  readonly writer: BridgeDeps['writer'] = {
    put: async (_, bridge) => {
      const missing = bridge.appIds.find((appId) => appId !== testApp);
      if (missing !== undefined) return fail({ kind: 'application', id: missing });
      this.bridges.set(bridge.bridgeId, bridge);
      return succeed(bridge);
    },
    revokeBridge: async (bridgeId, revoked) => {
      const bridge = this.bridges.get(bridgeId);
      if (bridge === undefined) return fail({ kind: 'bridge', id: bridgeId });
      const changed = { ...bridge, revoked: revoked === true };
      this.bridges.set(bridgeId, changed);
      return succeed(changed);
    },
    remove: async (_, bridgeId) => {
      const bridge = this.bridges.get(bridgeId);
      if (bridge === undefined) return fail({ kind: 'bridge', id: bridgeId });
      this.bridges.delete(bridgeId);
      return succeed(bridge);
    },
  };

  changed(): void {
    this.changes += 1;
  }

  ask(path: string, body: unknown): Promise<AdminReply> {
    return askRoute(bridgeRoutes(this), 'POST', path, body);
  }

  async add(bridgeId = 'bridge-1'): Promise<{ readonly bridge: object; readonly key: string }> {
    const { status, body } = await this.ask('/v1/bridge/add', { bridge_id: bridgeId, app_ids: [testApp] });
    assert.equal(status, 200);
    return body as { bridge: object; key: string };
  }
}

test('a bridge gets a key of 256 bits, of which the hash alone is kept', async () => {
  const scene = new Scene();
  const { bridge, key } = await scene.add();
  assert.match(key, /^[\w-]{43}$/);
  const keySha256 = createHash('sha256').update(key).digest('hex');
  assert.deepEqual(bridge, {
    bridge_id: 'bridge-1',
    key_sha256: keySha256,
    app_ids: [testApp],
    revoked: false,
  });
  assert.equal(scene.bridges.get('bridge-1')?.keySha256, keySha256);
  assert.notEqual((await scene.add('bridge-2')).key, key);
});

test('a bridge is revoked and taken again, and each time who is connected is judged anew', async () => {
  const scene = new Scene();
  await scene.add();
  assert.equal(scene.changes, 1);
  const revoked = await scene.ask('/v1/bridge/revoke', { bridge_id: 'bridge-1' });
  assert.equal((revoked.body as { bridge: { revoked: boolean } }).bridge.revoked, true);
  assert.equal(scene.changes, 2);
  await scene.ask('/v1/bridge/revoke', { bridge_id: 'bridge-1', revoked: false });
  assert.deepEqual([scene.bridges.get('bridge-1')?.revoked, scene.changes], [false, 3]);
});

test('a bridge that is removed is forgotten, and who is connected is judged anew', async () => {
  const scene = new Scene();
  await scene.add();
  const { status } = await scene.ask('/v1/bridge/remove', { bridge_id: 'bridge-1' });
  assert.deepEqual([status, scene.bridges.size, scene.changes], [200, 0, 2]);
  assert.equal((await scene.ask('/v1/bridge/remove', { bridge_id: 'bridge-1' })).status, 404);
});

test('what a change names must be there: otherwise it is 404 and nothing changes', async () => {
  const scene = new Scene();
  const ofNobody = { bridge_id: 'bridge-1', app_ids: [testApp, 'nobody'] };
  assert.deepEqual(await scene.ask('/v1/bridge/add', ofNobody), {
    status: 404,
    body: { error: 'no application "nobody" in the registry' },
  });
  assert.deepEqual(await scene.ask('/v1/bridge/revoke', { bridge_id: 'nobody' }), {
    status: 404,
    body: { error: 'no bridge "nobody" in the registry' },
  });
  assert.deepEqual([scene.bridges.size, scene.changes], [0, 0]);
});

test('a bridge without an id or an application, or with a key of its own, is 400 and names the field', async () => {
  const scene = new Scene();
  const cases: readonly [body: unknown, field: string][] = [
    [undefined, 'body'],
    [{ app_ids: [testApp] }, 'bridge_id'],
    [{ bridge_id: '', app_ids: [testApp] }, 'bridge_id'],
    [{ bridge_id: 'a\nb', app_ids: [testApp] }, 'bridge_id'],
    [{ bridge_id: 'bridge-1', app_ids: [] }, 'app_ids'],
    [{ bridge_id: 'bridge-1', app_ids: [''] }, 'app_ids'],
    [{ bridge_id: 'bridge-1', app_ids: [testApp], key: 'chosen' }, 'key'],
  ];
  for (const [body, field] of cases) {
    const refused = await scene.ask('/v1/bridge/add', body);
    assert.equal(refused.status, 400, JSON.stringify(body));
    assert.ok((refused.body as { error: string }).error.includes(field), JSON.stringify(refused.body));
  }
  assert.deepEqual([scene.bridges.size, scene.changes], [0, 0]);
});
