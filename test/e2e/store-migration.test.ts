/** A start on a store of an earlier release: what it held is there; a crash in a migration leaves it as it was. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import {
  earlierWakeupId,
  type ApplicationId,
  type DeviceId,
  type ProductId,
  type RequestId,
} from '../../src/model/ids.ts';
import { OutboxStore } from '../../src/storage/journal/outbox-store.ts';
import { runArgs } from '../support/checkout.ts';
import { openStore, openStoreReadOnly } from '../../src/storage/lmdb/open-store.ts';
import { CallRecordStore } from '../../src/storage/records/call-record-store.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import { storeFormat } from '../../src/storage/lmdb/store-format.ts';
import { WakeupRecordStore } from '../../src/storage/records/wakeup-record-store.ts';
import { exportRegistry } from '../../src/storage/registry/registry-export.ts';
import { importRegistry } from '../../src/storage/registry/registry-import.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import { LmdbDeliveryStore, WebhookTables } from '../../src/storage/webhooks/lmdb-delivery-store.ts';
import { checkout } from '../support/checkout.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeLog, latestOf } from '../support/fakes.ts';
import {
  copyName,
  migrationsWith,
  newFormat,
  oldFormat,
  everyFile,
  madeUpMigration,
  migratedKinds,
  seeFiles,
  writeOldStore,
} from '../support/made-up-migration.ts';
import { closedAfter, lastFirst, temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { openJournal } from '../support/test-journal.ts';
import { startTestServer, writeTestRegistry } from '../support/test-server.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

const program = runArgs(moduleBeside('store-migration-process', import.meta.url));

for (const last of migratedKinds)
  test(`a migration killed in the ${last} leaves the store and its copy as they were, and the next start goes on`, async (t) => {
    const directory = join(temporaryDirectory(t), 'data');
    await writeOldStore(directory);
    const killed = spawn(process.execPath, [...program, directory, last], {
      stdio: 'inherit',
    });
    assert.deepEqual(await once(killed, 'exit'), [null, 'SIGKILL']);
    const copy = join(directory, copyName);
    assert.ok(!existsSync(`${copy}.partial`));
    for (const place of [directory, copy]) {
      assert.deepEqual(await seeFiles(place), everyFile(oldFormat, 0));
      await openStore(place).close();
    }
    const store = openStore(directory, { lock: 'taken' }, { migrations: migrationsWith(madeUpMigration()) });
    assert.equal(store.migrated?.copy, copy);
    await store.close();
    assert.deepEqual(await seeFiles(directory), everyFile(newFormat, 1));
    assert.deepEqual(await seeFiles(copy), everyFile(oldFormat, 0));
  });

const fixture = new URL('test/fixtures/store-0af7fa9/', checkout);

interface HeldWakeup {
  readonly begunAtMs: number;
  readonly acceptedAtMs: number;
  readonly isCallersId: boolean;
  readonly bodySha256: string;
}

/** `held.json`: what the release of that commit read from the store that it had written. */
interface Held {
  readonly registry: readonly object[];
  readonly sleep: Readonly<Record<string, { readonly lastLoginAt: number }>>;
  readonly signal: Readonly<Record<string, object>>;
  /** By application and request id. */
  readonly wakeups: Readonly<Record<string, HeldWakeup>>;
  readonly events: readonly object[];
  readonly calls: readonly object[];
  readonly outbox: readonly {
    readonly place: number;
    readonly item: {
      readonly kind: string;
      readonly appId: ApplicationId;
      readonly requestId: RequestId;
      readonly record: HeldWakeup;
    };
  }[];
  readonly hooks: readonly { readonly id: string; readonly record: { readonly number: number } }[];
}

const held = JSON.parse(readFileSync(new URL('held.json', fixture), 'utf8')) as Held;

function storeOf0af7fa9(t: Ending): string {
  const directory = join(temporaryDirectory(t), 'data');
  mkdirSync(directory, { mode: 0o700 });
  const files = readdirSync(fixture).filter((name) => name.endsWith('.mdb.gz'));
  assert.equal(files.length, 3);
  for (const name of files)
    writeFileSync(join(directory, name.slice(0, -3)), gunzipSync(readFileSync(new URL(name, fixture))));
  return directory;
}

/** As it stands in a JSON file. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** As they are since each has an id of its own, and a request id says nothing of the body. */
function heldWakeups(): unknown {
  const moved = Object.entries(held.wakeups).map(([key, record]) => {
    const [appId, requestId] = key.split('\n') as [ApplicationId, RequestId];
    return [key, withOwnId(appId, requestId, record)];
  });
  return Object.fromEntries(moved);
}

function heldOutbox(): unknown {
  return held.outbox.map(({ place, item }) => {
    if (item.kind !== 'wakeup') return { place, item };
    const { appId, requestId, record } = item;
    return { place, item: { ...item, record: withOwnId(appId, requestId, record), isFirst: true } };
  });
}

function withOwnId(appId: ApplicationId, requestId: RequestId, earlier: HeldWakeup): object {
  const { isCallersId: _, bodySha256: __, ...record } = earlier;
  return { ...record, id: earlierWakeupId(appId, requestId, record.acceptedAtMs), packet: null };
}

test('a product of a store of commit 0af7fa9 has no defaults until an import gives it some', async (t) => {
  const ending = lastFirst(t);
  const store = closedAfter(ending, openStore(storeOf0af7fa9(ending), { lock: 'taken' }));
  const product = { product_id: 'doorbell', app_ids: ['2818153'] };
  const defaults = { heartbeat_s: 90, media: { audio_rate: 8000 } };
  const read = () => new RegistryStore(store.registry).findProduct('doorbell' as ProductId);
  assert.deepEqual(read(), { productId: 'doorbell', appIds: ['2818153'] });
  const file = join(store.directory, 'products.json');
  writeFileSync(file, JSON.stringify({ products: [{ ...product, defaults }] }));
  assert.ok(importRegistry(store.registry, { file, replace: false, skipUnchanged: false }).ok);
  assert.deepEqual(read(), { productId: 'doorbell', appIds: ['2818153'], defaults });
});

test('a store of commit 0af7fa9 is of format 1 and migrated, and all it held is found', async (t) => {
  const ending = lastFirst(t);
  const directory = storeOf0af7fa9(ending);
  assert.throws(() => openStoreReadOnly(directory), /has format 1 and this release reads format/);
  // The files are closed.
  await setImmediate();
  const store = closedAfter(ending, openStore(directory));
  assert.deepEqual([store.migrated?.from, store.migrated?.to], [1, storeFormat]);

  const exported = [...exportRegistry(store.registry, { form: 'ndjson', withSecrets: true })].join('');
  assert.deepEqual(
    exported
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    held.registry,
  );
  const { journal, stored } = openJournal(store);
  for (const kind of ['sleep', 'signal'] satisfies ConnectionKind[]) {
    const records = new ConnectionRecordStore(store.state, kind, journal);
    const ids = Object.keys(held[kind]);
    assert.ok(ids.length > 0);
    assert.deepEqual(Object.fromEntries(ids.map((id) => [id, records.read(id as DeviceId)])), held[kind]);
  }
  const wallMs = Object.values(held.wakeups)[0]?.begunAtMs ?? 0;
  const wakeups = new WakeupRecordStore(store.state, journal, {
    clock: new DrivenClock(wallMs),
    knownMax: 100,
    batch: (write) => store.state.environment.transaction(write),
  });
  const keys = Object.keys(held.wakeups);
  const records = keys.map((key) => {
    const [appId, requestId] = key.split('\n');
    return [key, wakeups.find(latestOf(appId as ApplicationId, requestId as RequestId))];
  });
  assert.deepEqual(asJson(Object.fromEntries(records)), heldWakeups());
  assert.deepEqual(
    wakeups.awaited().map(({ requestId }) => requestId),
    ['ring-awaited'],
  );
  assert.deepEqual(asJson(stored.read(0, 1000)), held.events);
  const calls = [...new CallRecordStore(store.state, journal).all()].flatMap(({ sessions }) => sessions);
  assert.deepEqual(asJson(calls), held.calls);
  assert.deepEqual(asJson(new OutboxStore(store.state, new FakeLog()).read(0, 1000)), heldOutbox());

  const tables = new WebhookTables(directory, 'write');
  ending.after(() => tables.environment.close());
  const deliveries = new LmdbDeliveryStore(tables);
  const hooks = Array.from(deliveries.hooks(), ([id, record]) => ({
    id,
    record,
    failed: [...deliveries.failed(record.number)],
    parked: deliveries.parked(record.number, 0, 1000),
  }));
  assert.deepEqual(asJson(hooks), held.hooks);
  assert.equal(hooks[0]?.failed.length, 1);
});

test('a server that starts on a store of commit 0af7fa9 ends what was open, and answers for it', async (t) => {
  const ending = lastFirst(t);
  const dataDirectory = storeOf0af7fa9(ending);
  await writeTestRegistry(dataDirectory);
  const server = await startTestServer({ dataDirectory });
  ending.after(() => server.halt());
  const answer = await server.api.connectivity('SLEEPING02');
  const { sleep } = answer.json.data as { sleep: Record<string, number> };
  assert.equal(sleep['last_login_at'], held.sleep['SLEEPING02']?.lastLoginAt);
  assert.ok(Number(sleep['last_offline_at']) >= Number(sleep['last_login_at']));
});
