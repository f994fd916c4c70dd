import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import { openFoundStore, openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../../../src/storage/registry/registry-write.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { closedAfter, temporaryDirectory, temporaryStore } from '../../../support/temporary-store.ts';

const application = { appId: 'app' as ApplicationId, name: 'An application' };

test('written entries are there after the store is reopened', async (t) => {
  const store = temporaryStore(t);
  await new RegistryWriter(store.registry, new RegistryStore(store.registry)).put('application', application);
  await store.close();
  const again = closedAfter(t, openStore(store.directory));
  assert.deepEqual(new RegistryStore(again.registry).find('application', 'app'), application);
});

test('the files of a store are accessible to their owner only', (t) => {
  const store = temporaryStore(t);
  for (const name of ['registry.mdb', 'state.mdb'])
    assert.equal(statSync(join(store.directory, name)).mode & 0o077, 0, name);
});

test('a store in use cannot be opened again until it is closed', async (t) => {
  const store = temporaryStore(t);
  assert.throws(() => openStore(store.directory), StoreOpenError);
  await store.close();
  closedAfter(t, openStore(store.directory));
});

test('opening a missing store gives advice and creates nothing', (t) => {
  const directory = temporaryDirectory(t);
  assert.throws(
    () => openFoundStore(directory),
    (error) => error instanceof StoreOpenError && error.message.includes('no store'),
  );
  assert.deepEqual(readdirSync(directory), []);
});
