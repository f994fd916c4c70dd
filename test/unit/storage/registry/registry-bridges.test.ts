import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId, BridgeId } from '../../../../src/model/ids.ts';
import type { Bridge } from '../../../../src/model/registry.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import type { Store } from '../../../../src/storage/lmdb/open-store.ts';
import { importRegistry } from '../../../../src/storage/registry/registry-import.ts';
import { RegistryWriter } from '../../../../src/storage/registry/registry-write.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryStore, writeBeside, type Ending } from '../../../support/temporary-store.ts';

interface Scene {
  readonly store: Store;
  readonly registry: RegistryStore;
  readonly writer: RegistryWriter;
}

function importBridges(store: Store, bridges: readonly object[]): ReturnType<typeof importRegistry> {
  const file = writeBeside(store, 'registry.json', JSON.stringify({ ...sampleRegistry, bridges }));
  return importRegistry(store.registry, { file, replace: false, skipUnchanged: false });
}

function sampleStore(t: Ending): Scene {
  const store = temporaryStore(t);
  assert.ok(importBridges(store, sampleRegistry.bridges).ok);
  const registry = new RegistryStore(store.registry);
  return { store, registry, writer: new RegistryWriter(store.registry, registry) };
}

const app = '2818153' as ApplicationId;
const sampleKey = 'ab'.repeat(32);
const sample: Bridge = {
  bridgeId: 'bridge-1' as BridgeId,
  keySha256: sampleKey,
  appIds: [app],
  revoked: false,
};
const fresh: Bridge = { ...sample, bridgeId: 'bridge-2' as BridgeId, keySha256: 'cd'.repeat(32) };

test('a bridge is found by the hash of its key, and by no other', (t) => {
  const { registry } = sampleStore(t);
  assert.deepEqual(registry.findBridges(sampleKey), [sample]);
  assert.deepEqual(registry.findBridges('ac'.repeat(32)), []);
  assert.deepEqual(registry.findBridges(sampleKey.toUpperCase()), []);
  assert.deepEqual(registry.findBridges('__proto__'), []);
});

test('all bridges that share a key are found, including revoked ones', async (t) => {
  const { registry, writer } = sampleStore(t);
  const revoked = { ...sample, bridgeId: 'bridge-0' as BridgeId, revoked: true };
  await writer.put('bridge', revoked);
  assert.deepEqual(registry.findBridges(sampleKey), [revoked, sample]);
});

test('an imported bridge replaces its predecessor after a purge', (t) => {
  const { store, registry } = sampleStore(t);
  assert.equal(registry.findBridges(sampleKey).length, 1);
  const changed = { bridge_id: 'bridge-1', key_sha256: 'CD'.repeat(32), app_ids: ['2818153'] };
  assert.ok(importBridges(store, [changed]).ok);
  registry.purge();
  assert.deepEqual(registry.findBridges(sampleKey), []);
  assert.deepEqual(registry.findBridges(fresh.keySha256), [{ ...sample, keySha256: fresh.keySha256 }]);
});

test('a bridge of a missing application is neither imported nor put', async (t) => {
  const { store, registry, writer } = sampleStore(t);
  const imported = importBridges(store, [{ ...sampleRegistry.bridges[0], app_ids: ['2818153', 'gone'] }]);
  assert.ok(!imported.ok);
  assert.match(imported.error.message, /bridge "bridge-1": app_ids application "gone" does not exist/);
  const put = await writer.put('bridge', { ...fresh, appIds: ['gone' as ApplicationId] });
  assert.deepEqual(put, { ok: false, error: { kind: 'application', id: 'gone' } });
  assert.deepEqual(registry.findBridges(fresh.keySha256), []);
});

test('a new bridge is found at once', async (t) => {
  const { registry, writer } = sampleStore(t);
  assert.deepEqual(registry.findBridges(fresh.keySha256), []);
  assert.deepEqual(await writer.put('bridge', fresh), { ok: true, value: fresh });
  assert.deepEqual(registry.findBridges(fresh.keySha256), [fresh]);
});

test('a bridge is revoked at once, keeps its other fields, and can be reinstated', async (t) => {
  const { registry, writer } = sampleStore(t);
  assert.deepEqual(registry.findBridges(sampleKey), [sample]);
  const revoked = { ...sample, revoked: true };
  assert.deepEqual(
    await writer.update('bridge', sample.bridgeId, (bridge) => ({ ...bridge, revoked: true })),
    { ok: true, value: revoked },
  );
  assert.deepEqual(registry.findBridges(sampleKey), [revoked]);
  assert.deepEqual(
    await writer.update('bridge', sample.bridgeId, (bridge) => ({ ...bridge, revoked: false })),
    { ok: true, value: sample },
  );
  assert.deepEqual(registry.findBridges(sampleKey), [sample]);
  const missing = await writer.update('bridge', 'gone', (bridge) => ({
    ...bridge,
    revoked: true,
  }));
  assert.deepEqual(missing, { ok: false, error: { kind: 'bridge', id: 'gone' } });
});

test('a removed bridge is not found by id or key', async (t) => {
  const { registry, writer } = sampleStore(t);
  assert.deepEqual(registry.findBridges(sampleKey), [sample]);
  assert.deepEqual(await writer.remove('bridge', sample.bridgeId), { ok: true, value: sample });
  assert.deepEqual(registry.findBridges(sampleKey), []);
  const missing = { ok: false, error: { kind: 'bridge', id: sample.bridgeId } };
  assert.deepEqual(await writer.remove('bridge', sample.bridgeId), missing);
});

test('too many bridges are an error, not a partial result', async (t) => {
  const { store, writer } = sampleStore(t);
  await writer.put('bridge', fresh);
  assert.deepEqual(new RegistryStore(store.registry, 2).findBridges(sampleKey), [sample]);
  assert.throws(() => new RegistryStore(store.registry, 1).findBridges(sampleKey), /more than 1 bridges/);
});

test('looking up a bridge in an unreadable store throws', async (t) => {
  const { store, registry } = sampleStore(t);
  await store.close();
  assert.throws(() => registry.findBridges(sampleKey));
});
