import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import type { Store } from '../../../../src/storage/lmdb/open-store.ts';
import { exportRegistry } from '../../../../src/storage/registry/registry-export.ts';
import {
  importRegistry,
  type ImportProgress,
  type ImportRequest,
  type ImportResult,
} from '../../../../src/storage/registry/registry-import.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { sampleLines, sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryStore, writeBeside } from '../../../support/temporary-store.ts';

function importText(
  store: Store,
  text: string,
  options: Partial<ImportRequest> = {},
  name = 'registry.json',
): ImportResult {
  const file = writeBeside(store, name, text);
  return importRegistry(store.registry, { file, replace: false, skipUnchanged: false, ...options });
}

function content(store: Store): string {
  return Array.from(exportRegistry(store.registry, { form: 'document', withSecrets: true })).join('');
}

function messageOf(result: ImportResult): string {
  return result.ok ? 'imported' : result.error.message.slice(result.error.message.lastIndexOf('/') + 1);
}

const sampleText = JSON.stringify(sampleRegistry);
const device = sampleRegistry.devices[0];

test('a document imports every kind of entry and counts them', (t) => {
  const store = temporaryStore(t);
  const result = importText(store, sampleText);
  assert.ok(result.ok);
  const counts = { application: 1, product: 1, credential: 1, device: 2, webhook: 1, bridge: 1 };
  assert.deepEqual(result.value.counts, counts);
  assert.equal(result.value.skipped, false);
  assert.deepEqual(new RegistryStore(store.registry).counts(), counts);
  assert.deepEqual(JSON.parse(content(store)), sampleRegistry);
});

test('lines in any order import the same store as the document', (t) => {
  const store = temporaryStore(t);
  const lines = sampleLines({ tagged: false }).toReversed();
  assert.ok(importText(store, lines.join('\n'), {}, 'registry.ndjson').ok);
  assert.deepEqual(JSON.parse(content(store)), sampleRegistry);
});

test('an import with a short secret changes nothing and names the entry, the field and the setting', (t) => {
  const store = temporaryStore(t);
  const before = content(store);
  const short = {
    ...sampleRegistry,
    devices: [device, { ...device, device_id: 'SHORT', secret: 'hunter2' }],
  };
  const lines = [...sampleLines({ tagged: true }), JSON.stringify({ ...device, secret: 'hunter2' })];
  const reported =
    'secret is shorter than 16 characters and can be guessed: ' +
    'use a longer one, or allow it with registry.allow_short_secrets';
  const refused = importText(store, JSON.stringify(short));
  assert.equal(messageOf(refused), `registry.json: devices[1]: device "SHORT": ${reported}`);
  const line = importText(store, lines.join('\n'), {}, 'registry.ndjson');
  assert.equal(messageOf(line), `registry.ndjson: line ${lines.length}: device "TESTDEVICE01": ${reported}`);
  assert.equal(content(store), before);
  assert.ok(importText(store, JSON.stringify(short), { allowShortSecrets: true }).ok);
  assert.equal(new RegistryStore(store.registry).findDevice('SHORT' as DeviceId)?.secret, 'hunter2');
});

test('an import adds and replaces by id and deletes none', (t) => {
  const store = temporaryStore(t);
  assert.ok(importText(store, sampleText).ok);
  const changed = { ...device, disabled: true };
  const added = { ...device, device_id: 'TESTDEVICE03' };
  assert.ok(importText(store, JSON.stringify({ devices: [changed, added] })).ok);
  const devices = (JSON.parse(content(store)) as typeof sampleRegistry).devices;
  assert.deepEqual(devices, [changed, sampleRegistry.devices[1], added]);
});

test('a replacing import makes the store equal to the file', (t) => {
  const store = temporaryStore(t);
  assert.ok(importText(store, sampleText).ok);
  const other = {
    ...sampleRegistry,
    devices: [{ ...device, device_id: 'OTHER' }],
    webhooks: [],
    bridges: [],
  };
  assert.ok(importText(store, JSON.stringify(other), { replace: true, deletions: 'any' }).ok);
  assert.deepEqual(JSON.parse(content(store)), other);
  assert.ok(importText(store, '{}', { replace: true, deletions: 'any' }).ok);
  assert.ok(new RegistryStore(store.registry).isEmpty());
});

test('an invalid entry at any place is named and nothing changes, replacing or not', (t) => {
  const store = temporaryStore(t);
  assert.ok(importText(store, sampleText).ok);
  const before = content(store);
  const lines = Array.from({ length: 6 }, (_, i) => JSON.stringify({ ...device, device_id: `NEW${i}` }));
  const bad = JSON.stringify({ ...device, device_id: 'BAD', expires_at: 'soon' });
  for (let at = 0; at <= lines.length; at++)
    for (const replace of [false, true]) {
      const text = lines.toSpliced(at, 0, bad).join('\n');
      const result = importText(store, text, { replace, deletions: 'any' }, 'registry.ndjson');
      assert.equal(
        messageOf(result),
        `registry.ndjson: line ${at + 1}: device "BAD": expires_at must be whole Unix seconds or null`,
      );
      assert.equal(content(store), before);
    }
});

test('a document that breaks off at any byte changes nothing', (t) => {
  const store = temporaryStore(t);
  const text = JSON.stringify({ ...sampleRegistry, credentials: [], webhooks: [], bridges: [] });
  for (let length = 0; length < text.length; length++)
    assert.ok(!importText(store, text.slice(0, length)).ok);
  assert.ok(new RegistryStore(store.registry).isEmpty());
});

const broken: readonly [object, string][] = [
  [{ devices: [device] }, 'devices[0]: device "TESTDEVICE01": product_id product "doorbell" does not exist'],
  [
    { products: sampleRegistry.products },
    'products[0]: product "doorbell": app_ids application "2818153" does not exist',
  ],
  [
    { credentials: sampleRegistry.credentials },
    'credentials[0]: credential "AKTEST": app_id application "2818153" does not exist',
  ],
  [
    { bridges: sampleRegistry.bridges },
    'bridges[0]: bridge "bridge-1": app_ids application "2818153" does not exist',
  ],
];
for (const [registry, message] of broken)
  test(`an entry that refers to nothing is refused: ${message}`, (t) => {
    const store = temporaryStore(t);
    assert.equal(messageOf(importText(store, JSON.stringify(registry))), `registry.json: ${message}`);
    assert.ok(new RegistryStore(store.registry).isEmpty());
  });

test('an entry may refer to entries of an earlier import, unless that is replaced', (t) => {
  const store = temporaryStore(t);
  assert.ok(importText(store, sampleText).ok);
  const text = JSON.stringify({ devices: [{ ...device, device_id: 'LATER' }] });
  assert.ok(importText(store, text).ok);
  assert.ok(!importText(store, text, { replace: true, deletions: 'any' }).ok);
});

test('the last entry of a repeated id wins', (t) => {
  const store = temporaryStore(t);
  const devices = [device, { ...device, secret: 'the last of both secrets' }];
  assert.ok(importText(store, JSON.stringify({ ...sampleRegistry, devices })).ok);
  assert.equal(
    new RegistryStore(store.registry).findDevice('TESTDEVICE01' as DeviceId)?.secret,
    'the last of both secrets',
  );
});

test('device ids with NUL, line feeds and characters beyond the first plane are kept byte for byte', (t) => {
  const store = temporaryStore(t);
  const ids = ['\0', 'a\0', 'a\0b', 'a', '\n', '\u007f', 'é', '\uffff', '😀', 'x'.repeat(255)];
  const devices = ids.map((id) => ({ ...device, device_id: id, secret: `the long secret of ${id.length}` }));
  assert.ok(importText(store, JSON.stringify({ ...sampleRegistry, devices })).ok);
  const registry = new RegistryStore(store.registry);
  for (const id of ids) assert.equal(registry.findDevice(id as DeviceId)?.deviceId, id);
  const inByteOrder = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual(
    registry.page('device', 100).map(({ deviceId }) => deviceId as string),
    inByteOrder,
  );
});

test('an unchanged file is skipped when asked to, and read again when it or its path changed', (t) => {
  const store = temporaryStore(t);
  const skipped = (text: string, options: Partial<ImportRequest> = {}, name = 'registry.json'): boolean => {
    const result = importText(store, text, { skipUnchanged: true, ...options }, name);
    assert.ok(result.ok);
    return result.value.skipped;
  };
  assert.equal(skipped(sampleText), false);
  assert.equal(skipped(sampleText), true);
  assert.equal(skipped(sampleText, { skipUnchanged: false }), false);
  assert.equal(skipped(sampleText, { replace: true, deletions: 'any' }), false);
  assert.equal(skipped(`${sampleText}\n`), false);
  assert.equal(skipped(sampleText), false, 'the last import wins');
  assert.equal(skipped(sampleText, {}, 'another.json'), false);
  assert.equal(skipped(sampleText), true);
});

test('a file is not remembered after a failed import', (t) => {
  const store = temporaryStore(t);
  const text = JSON.stringify({ devices: [device] });
  assert.ok(!importText(store, text, { skipUnchanged: true }).ok);
  assert.ok(!importText(store, text, { skipUnchanged: true }).ok);
});

test('the number of remembered files is bounded, and the oldest import is dropped', (t) => {
  const store = temporaryStore(t);
  for (let i = 0; i < 20; i++) assert.ok(importText(store, '{}', {}, `registry-${i}.json`).ok);
  assert.equal(store.registry.imported.length, 16);
  assert.match(store.registry.imported[0]?.path ?? '', /registry-19\.json$/);
});

test('a missing file, or a directory, is named', (t) => {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'gone.json', '{}');
  rmSync(file);
  for (const path of [file, join(store.directory, '..')]) {
    const result = importRegistry(store.registry, {
      file: path,
      replace: true,
      deletions: 'any',
      skipUnchanged: true,
    });
    assert.ok(!result.ok && result.error.message.startsWith(`${path}: cannot be imported: `));
  }
});

test('a masked export is refused', (t) => {
  const store = temporaryStore(t);
  assert.ok(importText(store, sampleText).ok);
  const masked = Array.from(exportRegistry(store.registry, { form: 'document', withSecrets: false })).join(
    '',
  );
  assert.doesNotMatch(masked, /secret-|whsec_/);
  assert.match(messageOf(importText(store, masked)), /credential "AKTEST": secret_key is masked/);
});

test('no message contains a secret, even for a line that is not JSON', (t) => {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'r.ndjson', '{"device_id":"a","secret":"TOPSECRET",}');
  const result = importRegistry(store.registry, { file, replace: false, skipUnchanged: false });
  assert.ok(!result.ok);
  assert.doesNotMatch(JSON.stringify(result.error), /TOPSECRET/);
});

test('progress is reported from time to time', (t) => {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'r.ndjson', '');
  const applications = Array.from({ length: 45_000 }, (_, i) => `{"app_id":"${i}","name":"n"}`);
  writeFileSync(file, applications.join('\n'));
  const reported: ImportProgress[] = [];
  const onProgress = (progress: ImportProgress): void => void reported.push(progress);
  const request = { file, replace: false, skipUnchanged: false };
  assert.ok(importRegistry(store.registry, request, { onProgress }).ok);
  assert.deepEqual(
    reported.map(({ entries }) => entries),
    [20_000, 40_000],
  );
  assert.deepEqual(
    reported.map(({ share }) => share.toFixed(1)),
    ['0.4', '0.9'],
  );
  reported.length = 0;
  const empty = writeBeside(store, 'empty.json', '{}');
  const replacing = { file: empty, replace: true, deletions: 'any', skipUnchanged: false } as const;
  assert.ok(importRegistry(store.registry, replacing, { onProgress }).ok);
  assert.deepEqual(reported.at(-1), { phase: 'deleting', entries: 45_000, share: 1 });
});

test('too many entries before their references are refused, and none is stored', (t) => {
  const store = temporaryStore(t);
  const devices = Array.from({ length: 100_001 }, (_, i) => ({
    ...device,
    device_id: `${i}`,
    product_id: `${i}`,
  }));
  const lines = devices.map((entry) => JSON.stringify(entry)).join('\n');
  assert.match(
    messageOf(importText(store, lines, {}, 'r.ndjson')),
    /line 100001: device "100000": comes after too many/,
  );
  assert.ok(new RegistryStore(store.registry).isEmpty());
});
