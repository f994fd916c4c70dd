import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import { exportRegistry } from '../../../../src/storage/registry/registry-export.ts';
import { importRegistry } from '../../../../src/storage/registry/registry-import.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../../../src/storage/registry/registry-write.ts';
import { sampleLines, sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryStore, writeBeside } from '../../../support/temporary-store.ts';

test('an export with secrets is the complete registry, as lines or as a document', (t) => {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'registry.json', JSON.stringify(sampleRegistry));
  assert.ok(importRegistry(store.registry, { file, replace: false, skipUnchanged: false }).ok);
  const text = (form: 'ndjson' | 'document'): string =>
    Array.from(exportRegistry(store.registry, { form, withSecrets: true })).join('');
  assert.deepEqual(JSON.parse(text('document')), sampleRegistry);
  assert.deepEqual(text('ndjson').trimEnd().split('\n'), sampleLines({ tagged: true }));
});

test('an export without secrets masks the secret of every kind that has one', (t) => {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'registry.json', JSON.stringify(sampleRegistry));
  assert.ok(importRegistry(store.registry, { file, replace: false, skipUnchanged: false }).ok);
  const text = Array.from(exportRegistry(store.registry, { form: 'ndjson', withSecrets: false })).join('');
  assert.equal(text.match(/"\*\*\*"/g)?.length, 4);
  for (const secret of ['secret-of-the-credential', 'secret-1', 'secret-2', 'whsec_'])
    assert.ok(!text.includes(secret), secret);
});

test('an empty store exports as a document that imports', (t) => {
  const store = temporaryStore(t);
  const text = Array.from(exportRegistry(store.registry, { form: 'document', withSecrets: true })).join('');
  const file = writeBeside(store, 'export.json', text);
  assert.ok(
    importRegistry(store.registry, { file, replace: true, deletions: 'any', skipUnchanged: false }).ok,
  );
});

test('an export is streamed in pieces from one snapshot, despite concurrent writes', async (t) => {
  const store = temporaryStore(t);
  const lines = Array.from({ length: 5000 }, (_, i) => `{"app_id":"app-${i}","name":"${'n'.repeat(40)}"}`);
  const file = writeBeside(store, 'registry.ndjson', lines.join('\n'));
  assert.ok(importRegistry(store.registry, { file, replace: false, skipUnchanged: false }).ok);
  const pieces = exportRegistry(store.registry, { form: 'ndjson', withSecrets: true });
  const first = pieces.next();
  const writer = new RegistryWriter(store.registry, new RegistryStore(store.registry));
  await writer.put('application', { appId: 'zzz' as ApplicationId, name: 'late' });
  const rest = Array.from(pieces);
  assert.ok(rest.length > 1);
  const text = [first.value, ...rest].join('');
  assert.equal(text.trimEnd().split('\n').length, 5000);
  assert.ok(!text.includes('zzz'));
});

test('an abandoned export releases its snapshot', (t) => {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'registry.json', JSON.stringify(sampleRegistry));
  assert.ok(importRegistry(store.registry, { file, replace: false, skipUnchanged: false }).ok);
  for (let i = 0; i < 300; i++) {
    const pieces = exportRegistry(store.registry, { form: 'ndjson', withSecrets: true });
    pieces.next();
    pieces.return();
  }
});
