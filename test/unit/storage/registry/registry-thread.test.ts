import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { ApplicationId, DeviceId } from '../../../../src/model/ids.ts';
import { importInWorker } from '../../../../src/storage/registry/registry-thread.ts';
import { startModuleWorker } from '../../../../src/lib/module-worker.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../../../src/storage/registry/registry-write.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryStore, writeBeside } from '../../../support/temporary-store.ts';

const device = sampleRegistry.devices[0];
const manyDevices = (count: number): string =>
  JSON.stringify({
    ...sampleRegistry,
    devices: Array.from({ length: count }, (_, i) => ({ ...device, device_id: `device-${i}` })),
  });

test('an import on a thread is seen by the main thread after a purge', async (t) => {
  const store = temporaryStore(t);
  const registry = new RegistryStore(store.registry);
  assert.equal(registry.findDevice('device-0' as DeviceId), null);
  const file = writeBeside(store, 'registry.json', manyDevices(25_000));
  const reported: number[] = [];
  const request = { file, replace: false, skipUnchanged: true };
  const result = await importInWorker(store.directory, request, {
    onProgress: ({ entries }) => reported.push(entries),
  });
  assert.ok(result.ok);
  assert.equal(result.value.counts.device, 25_000);
  assert.deepEqual(reported, [20_000]);
  registry.purge();
  assert.equal(registry.counts().device, 25_000);
  assert.notEqual(registry.findDevice('device-0' as DeviceId), null);
});

test('a second import of a store is refused while one is under way, and possible afterwards', async (t) => {
  const store = temporaryStore(t);
  const request = { file: writeBeside(store, 'registry.json', '{}'), replace: false, skipUnchanged: false };
  const first = importInWorker(store.directory, request);
  const second = await importInWorker(store.directory, request);
  assert.ok(!second.ok && second.error.reason.includes('another import'));
  assert.ok((await first).ok);
  assert.ok((await importInWorker(store.directory, request)).ok);
});

test('a failing import reports its reason, and the store stays usable', async (t) => {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'registry.json', '{"devices":[{}]}');
  const result = await importInWorker(store.directory, {
    file,
    replace: true,
    deletions: 'any',
    skipUnchanged: false,
  });
  assert.ok(!result.ok);
  assert.equal(result.error.message, `${file}: devices[0]: device without id: device_id is missing`);
  const registry = new RegistryStore(store.registry);
  const writer = new RegistryWriter(store.registry, registry);
  assert.ok((await writer.put('application', { appId: 'a' as ApplicationId, name: 'n' })).ok);
  assert.notEqual(registry.find('application', 'a'), null);
});

test('a change during an import waits for it and is not lost', async (t) => {
  const store = temporaryStore(t);
  const registry = new RegistryStore(store.registry);
  const writer = new RegistryWriter(store.registry, registry);
  const file = writeBeside(store, 'registry.json', manyDevices(25_000));
  const changes: Promise<unknown>[] = [];
  const result = await importInWorker(
    store.directory,
    { file, replace: true, deletions: 'any', skipUnchanged: false },
    {
      onProgress: () => {
        changes.push(writer.put('application', { appId: 'late' as ApplicationId, name: 'n' }));
      },
    },
  );
  assert.ok(result.ok);
  assert.equal((await Promise.all(changes)).length, 1);
  registry.purge();
  assert.notEqual(registry.find('application', 'late'), null);
  assert.notEqual(registry.find('application', '2818153'), null);
});

test('a directory that cannot be opened is a failed import, not a crash', async (t) => {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'registry.json', '{}');
  const result = await importInWorker(file, { file, replace: false, skipUnchanged: false });
  assert.ok(!result.ok && result.error.reason.startsWith('is not imported: '));
});

test('a missing module ends its thread with an error', async () => {
  const worker = startModuleWorker('no-such-module', import.meta.url, null);
  const [error] = (await once(worker, 'error')) as [Error];
  assert.match(error.message, /no-such-module/);
});
