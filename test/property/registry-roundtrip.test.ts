/** Property: the export of any registry with secrets imports back to an equal store, in both forms. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import { openStore, type Store } from '../../src/storage/lmdb/open-store.ts';
import { exportRegistry } from '../../src/storage/registry/registry-export.ts';
import { importRegistry } from '../../src/storage/registry/registry-import.ts';
import type { RegistryForm } from '../../src/storage/registry/registry-text.ts';
import { closedAfter, temporaryDirectory } from '../support/temporary-store.ts';

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter((value) => value !== '***');
const deviceId = fc.oneof(text, fc.constantFrom('\0', 'a\0', '\n', '__proto__', '{"devices":['));
const registryId = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 10 })
  .filter((id) => !/\p{Cc}/u.test(id));
const seconds = fc.option(fc.nat());

/** One entry per id. */
function each<Item>(ids: string[], entry: (id: string) => fc.Arbitrary<Item>): fc.Arbitrary<Item[]> {
  return fc.tuple(...ids.map(entry));
}

const registries = fc
  .record({
    appIds: fc.uniqueArray(registryId, { minLength: 1, maxLength: 4 }),
    productIds: fc.uniqueArray(registryId, { minLength: 1, maxLength: 4 }),
    bridgeIds: fc.uniqueArray(registryId, { maxLength: 3 }),
    accessKeyIds: fc.uniqueArray(fc.stringMatching(/^[A-Za-z0-9._-]{1,20}$/), { maxLength: 4 }),
    deviceIds: fc.uniqueArray(deviceId, { maxLength: 12 }),
    paths: fc.uniqueArray(fc.webPath(), { maxLength: 3 }),
  })
  .chain(({ appIds, productIds, bridgeIds, accessKeyIds, deviceIds, paths }) => {
    const appId = fc.constantFrom(...appIds);
    const someApps = fc.uniqueArray(appId, { maxLength: 3 });
    return fc.record({
      applications: each(appIds, (app_id) => fc.record({ app_id: fc.constant(app_id), name: text })),
      products: each(productIds, (product_id) =>
        fc.record({ product_id: fc.constant(product_id), app_ids: someApps }),
      ),
      credentials: each(accessKeyIds, (access_key_id) =>
        fc.record({
          access_key_id: fc.constant(access_key_id),
          secret_key: text,
          app_id: appId,
          permissions: fc.constantFrom(['*'], [], ['wakeup:write', 'events:read']),
          not_before: seconds,
          not_after: seconds,
          revoked: fc.boolean(),
        }),
      ),
      devices: each(deviceIds, (device_id) =>
        fc.record({
          device_id: fc.constant(device_id),
          product_id: fc.constantFrom(...productIds),
          secret: text,
          expires_at: seconds,
          disabled: fc.boolean(),
        }),
      ),
      webhooks: each(paths, (path) =>
        fc.record({
          app_id: appId,
          url: fc.constant(`https://example.org/${path}`),
          secret: text,
          types: fc.constantFrom(['*'], ['call.started', 'device.sleep.login']),
        }),
      ),
      bridges: each(bridgeIds, (bridge_id) =>
        fc.record({
          bridge_id: fc.constant(bridge_id),
          key_sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
          app_ids: someApps,
          revoked: fc.boolean(),
        }),
      ),
    });
  });

const directory = temporaryDirectory({ after });
const origin = closedAfter({ after }, openStore(join(directory, 'origin')));
const copy = closedAfter({ after }, openStore(join(directory, 'copy')));

function importText(store: Store, content: string): void {
  const file = join(directory, 'registry');
  writeFileSync(file, content);
  const result = importRegistry(store.registry, {
    file,
    replace: true,
    deletions: 'any',
    skipUnchanged: false,
    allowShortSecrets: true,
  });
  assert.ok(result.ok, result.ok ? '' : result.error.message);
}

function exportText(store: Store, form: RegistryForm): string {
  return Array.from(exportRegistry(store.registry, { form, withSecrets: true })).join('');
}

function byId(entries: readonly object[]): string[] {
  return entries.map((entry) => JSON.stringify(entry)).toSorted();
}

test('a registry is unchanged after import, export and import', () => {
  fc.assert(
    fc.property(registries, fc.constantFrom<RegistryForm>('document', 'ndjson'), (registry, form) => {
      importText(origin, JSON.stringify(registry));
      const exported = JSON.parse(exportText(origin, 'document')) as typeof registry;
      for (const list of Object.keys(registry) as (keyof typeof registry)[])
        assert.deepEqual(byId(exported[list]), byId(registry[list]));
      importText(copy, exportText(origin, form));
      assert.equal(exportText(copy, 'ndjson'), exportText(origin, 'ndjson'));
    }),
    { numRuns: 60 },
  );
});
