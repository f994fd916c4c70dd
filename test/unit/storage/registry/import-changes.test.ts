import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../../src/storage/lmdb/open-store.ts';
import { CommitSwitch } from '../../../../src/storage/registry/commit-switch.ts';
import { exportRegistry } from '../../../../src/storage/registry/registry-export.ts';
import {
  importRegistry,
  type ImportReport,
  type ImportRequest,
  type ImportResult,
} from '../../../../src/storage/registry/registry-import.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryStore, writeBeside } from '../../../support/temporary-store.ts';

const [device] = sampleRegistry.devices;
const manyDevices = (count: number): object[] =>
  Array.from({ length: count }, (_, i) => ({ ...device, device_id: `D${String(i).padStart(2, '0')}` }));
const registryOf = (devices: readonly object[]): object => ({ ...sampleRegistry, devices });

function importInto(
  store: Store,
  registry: object,
  options: Partial<ImportRequest> = {},
  commitSwitch = new CommitSwitch(),
): ImportResult {
  const file = writeBeside(store, 'registry.json', JSON.stringify(registry));
  const request = { file, replace: false, skipUnchanged: false, ...options };
  return importRegistry(store.registry, request, { commitSwitch });
}

function reportOf(result: ImportResult): ImportReport {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

function content(store: Store): string {
  return Array.from(exportRegistry(store.registry, { form: 'document', withSecrets: true })).join('');
}

test('an import counts added, changed, deleted and unchanged entries', (t) => {
  const store = temporaryStore(t);
  const first = reportOf(importInto(store, registryOf(manyDevices(20))));
  assert.deepEqual(first.changes.device, { added: 20, changed: 0, unchanged: 0, deleted: 0 });
  assert.deepEqual(first.changes.application, { added: 1, changed: 0, unchanged: 0, deleted: 0 });
  const next = [
    ...manyDevices(19).slice(1),
    { ...device, device_id: 'D18', disabled: true },
    { ...device, device_id: 'NEW' },
  ];
  const merged = reportOf(importInto(store, { devices: next }, { dryRun: true }));
  assert.deepEqual(merged.changes.device, { added: 1, changed: 1, unchanged: 18, deleted: 0 });
  const replaced = reportOf(importInto(store, registryOf(next), { replace: true }));
  assert.deepEqual(replaced.changes.device, { added: 1, changed: 1, unchanged: 18, deleted: 2 });
  assert.deepEqual(replaced.deletedIds, { device: ['D00', 'D19'] });
});

test('entries that occur twice in the file do not change the number of deletions', (t) => {
  const store = temporaryStore(t);
  reportOf(importInto(store, registryOf(manyDevices(3))));
  const twice = registryOf([...manyDevices(2), ...manyDevices(2)]);
  const report = reportOf(importInto(store, twice, { replace: true, deletions: { device: 1 } }));
  assert.deepEqual(report.changes.device, { added: 0, changed: 0, unchanged: 4, deleted: 1 });
});

for (const dryRun of [false, true])
  test(`an import that ${dryRun ? 'is a dry run' : 'would delete more than a tenth of a kind unconfirmed'} writes nothing`, (t) => {
    const store = temporaryStore(t);
    reportOf(importInto(store, registryOf(manyDevices(20))));
    const before = content(store);
    const fewer = registryOf(manyDevices(17));
    const result = importInto(store, fewer, { replace: true, dryRun });
    assert.equal(content(store), before);
    if (dryRun) {
      assert.equal(reportOf(result).changes.device.deleted, 3);
      assert.deepEqual(reportOf(result).deletedIds, { device: ['D17', 'D18', 'D19'] });
    } else {
      assert.match(
        result.ok ? '' : result.error.message,
        /: would delete 3 of 20 devices: more than 10 % of a kind has to be confirmed \(--yes\)$/,
      );
      assert.equal(
        reportOf(importInto(store, fewer, { replace: true, deletions: 'any' })).changes.device.deleted,
        3,
      );
    }
  });

test('a tenth of each kind may be deleted without confirmation, and none of a kind with few entries', (t) => {
  const store = temporaryStore(t);
  reportOf(importInto(store, registryOf(manyDevices(20))));
  assert.ok(importInto(store, registryOf(manyDevices(18)), { replace: true }).ok);
  const fewer = { ...sampleRegistry, devices: manyDevices(9), bridges: [] };
  const refused = importInto(store, fewer, { replace: true });
  assert.match(
    refused.ok ? '' : refused.error.message,
    /would delete 9 of 18 devices, 1 of 1 bridges: more than 10 % of a kind/,
  );
});

test('no more entries are deleted than confirmed, even if the registry has changed since', (t) => {
  const store = temporaryStore(t);
  reportOf(importInto(store, registryOf(manyDevices(20))));
  const confirmed = {
    device: reportOf(importInto(store, registryOf([]), { replace: true, dryRun: true })).changes.device
      .deleted,
  };
  reportOf(importInto(store, { devices: [{ ...device, device_id: 'MEANWHILE' }] }));
  const before = content(store);
  const refused = importInto(store, registryOf([]), { replace: true, deletions: confirmed });
  assert.match(
    refused.ok ? '' : refused.error.message,
    /would delete 21 of 21 devices, where 20 were confirmed: the registry or the file has changed meanwhile$/,
  );
  assert.equal(content(store), before);
});

test('a cancellation before the commit leaves no change, and one after it has no effect', (t) => {
  const store = temporaryStore(t);
  const early = new CommitSwitch();
  assert.equal(early.cancel(), true);
  const cancelled = importInto(store, sampleRegistry, {}, early);
  assert.match(cancelled.ok ? '' : cancelled.error.message, /registry\.json: the import was cancelled$/);
  assert.equal(JSON.parse(content(store)).applications.length, 0);
  const late = new CommitSwitch(new CommitSwitch().shared);
  assert.ok(importInto(store, sampleRegistry, {}, late).ok);
  assert.equal(late.cancel(), false);
  assert.equal(late.isCancelled, false);
});
