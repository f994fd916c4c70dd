/** A start on a store of an earlier release: what it held is there; a crash in a migration leaves it as it was. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../src/model/ids.ts';
import { OutboxStore } from '../../src/storage/journal/outbox-store.ts';
import { runArgs } from '../support/checkout.ts';
import { openStore, openStoreReadOnly } from '../../src/storage/lmdb/open-store.ts';
import { CallRecordStore } from '../../src/storage/records/call-record-store.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import { WakeupRecordStore } from '../../src/storage/records/wakeup-record-store.ts';
import { exportRegistry } from '../../src/storage/registry/registry-export.ts';
import { LmdbDeliveryStore } from '../../src/storage/webhooks/lmdb-delivery-store.ts';
import { WebhookTables } from '../../src/storage/webhooks/webhook-tables.ts';
import { checkout } from '../support/checkout.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeLog } from '../support/fakes.ts';
import {
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
    const copy = join(directory, 'format-1-to-2');
    assert.ok(!existsSync(`${copy}.partial`));
    for (const place of [directory, copy]) {
      assert.deepEqual(await seeFiles(place), everyFile(1, 0));
      await openStore(place).close();
    }
    const store = openStore(directory, { lock: 'taken' }, { migrations: [madeUpMigration()] });
    assert.equal(store.migrated?.copy, copy);
    await store.close();
    assert.deepEqual(await seeFiles(directory), everyFile(2, 1));
    assert.deepEqual(await seeFiles(copy), everyFile(1, 0));
  });

const fixture = new URL('test/fixtures/store-0af7fa9/', checkout);

/** `held.json`: what the release of that commit read from the store that it had written. */
interface Held {
  readonly registry: readonly object[];
  readonly sleep: Readonly<Record<string, { readonly lastLoginAt: number }>>;
  readonly signal: Readonly<Record<string, object>>;
  /** By application and request id. */
  readonly wakeups: Readonly<Record<string, { readonly begunAtMs: number }>>;
  readonly events: readonly object[];
  readonly calls: readonly object[];
  readonly outbox: readonly object[];
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

test('a store of commit 0af7fa9 is of format 1, and all it held is found', async (t) => {
  const ending = lastFirst(t);
  const directory = storeOf0af7fa9(ending);
  const looked = openStoreReadOnly(directory);
  assert.deepEqual([looked.registry.environment.format, looked.state.environment.format], [1, 1]);
  await looked.close();
  const store = closedAfter(ending, openStore(directory));
  assert.equal(store.migrated, null);

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
    batch: (write) => store.state.environment.batch(write),
  });
  const keys = Object.keys(held.wakeups);
  const records = keys.map((key) => {
    const [appId, requestId] = key.split('\n');
    return [key, wakeups.find(appId as ApplicationId, requestId as RequestId)];
  });
  assert.deepEqual(asJson(Object.fromEntries(records)), held.wakeups);
  assert.deepEqual(
    wakeups.awaited().map(({ requestId }) => requestId),
    ['ring-awaited'],
  );
  assert.deepEqual(asJson(stored.read(0, 1000)), held.events);
  const calls = [...new CallRecordStore(store.state, journal).all()].flatMap(({ sessions }) => sessions);
  assert.deepEqual(asJson(calls), held.calls);
  assert.deepEqual(asJson(new OutboxStore(store.state, new FakeLog()).read(0, 1000)), held.outbox);

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
