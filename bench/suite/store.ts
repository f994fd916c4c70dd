/**
 * The store on the request path: a device looked up at random among 100 000 (LMDB's memory map, past the cache), a
 * credential looked up (cached), and records written behind, 1 000 a round, until they are committed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench } from 'tinybench';
import { assert } from '../../src/lib/assert.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { ApplicationId, DeviceId, SessionId } from '../../src/model/ids.ts';
import { onlyMember } from '../../src/storage/records/connection-rows.ts';
import { SharedRecords } from '../../src/storage/journal/shared-records.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import { Journal } from '../../src/storage/journal/journal.ts';
import { Committer } from '../../src/storage/journal/committer.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { importRegistry } from '../../src/storage/registry/registry-import.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../src/storage/registry/registry-write.ts';
import { deviceIdAt, makeRegistryFile } from '../support/registry-file.ts';

const devices = 100_000;
const writesPerRound = 1000;

/** Adds the cases to `bench`; the returned function takes the store away again. */
export async function register(bench: Bench): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-'));
  const file = join(directory, 'registry.ndjson');
  makeRegistryFile(file, devices);
  const store = openStore(join(directory, 'data'));
  const imported = importRegistry(store.registry, { file, replace: false, skipUnchanged: false });
  assert(imported.ok, 'the generated registry is valid');
  const registry = new RegistryStore(store.registry);
  const terms = {
    appId: '2818153' as ApplicationId,
    grants: ['*'],
    notBefore: null,
    notAfter: null,
  } as const;
  const credential = await new RegistryWriter(store.registry, registry).createCredential(terms);
  assert(credential.ok, 'the application is there');

  const ids = Array.from({ length: 1 << 16 }, () => deviceIdAt(Math.floor(Math.random() * devices)));
  let lookups = 0;
  const nextId = (): DeviceId => ids[lookups++ & 0xffff] ?? deviceIdAt(0);
  bench.add('store: device lookup, random of 100k', () => {
    registry.find('device', nextId());
  });
  bench.add('store: credential lookup, cached', () => {
    registry.findCredential(credential.value.accessKeyId);
  });
  const journal = new Journal({
    clock: new SystemClock(),
    committer: new Committer(
      store.state.environment,
      new SharedRecords(store.state, { member: onlyMember, node: 'node-1', grew: () => undefined }),
    ),
    productOf: () => null,
    backlogMax: 100_000,
  });
  const records = new ConnectionRecordStore(store.state, 'sleep', journal);
  bench.add('store: 1000 records written and committed', async () => {
    for (let i = 0; i < writesPerRound; i++) records.write(nextId(), recordAt(i), null);
    await records.allCommitted();
  });

  return async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  };
}

function recordAt(number: number) {
  return {
    epoch: number + 1,
    lastLoginAt: 1_800_000_000,
    lastHeartbeatAt: 1_800_000_060,
    lastOfflineAt: null,
    openSession: '0190b1c2-7d3e-7000-8000-0123456789ab' as SessionId,
  };
}
