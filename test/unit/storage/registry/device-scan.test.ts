/** Columns of devices for searches, against the devices as the registry reads them one by one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScannedDevices, TextColumn } from '../../../../src/core/ports/device-registry.ts';
import type { DeviceId, ProductId } from '../../../../src/model/ids.ts';
import type { Device } from '../../../../src/model/registry.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { temporaryStore } from '../../../support/temporary-store.ts';

function textsOf({ bytes, ends }: TextColumn): string[] {
  return Array.from(ends, (end, row) => bytes.toString('utf8', row === 0 ? 0 : ends[row - 1], end));
}

function readAll(registry: RegistryStore): ScannedDevices[] {
  const scans = [registry.scan(null, null)];
  for (let scan = scans[0]; scan?.isComplete === false; scans.push(scan)) {
    const { bytes, ends } = scan.ids;
    scan = registry.scan(bytes.toString('latin1', ends.at(-2) ?? 0), null);
  }
  return scans;
}

function device(id: string, terms: Partial<Device> = {}): Device {
  const productId = 'doorbell' as ProductId;
  return { deviceId: id as DeviceId, productId, secret: 's', expiresAt: null, disabled: false, ...terms };
}

const long = 'x'.repeat(250);

const unlike: readonly Device[] = [
  ...[null, 0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 253_402_300_799].map((expiresAt) =>
    device(`Expires-${expiresAt}`, { expiresAt, labels: { at: `${expiresAt}` } }),
  ),
  ...[1, 31, 32, 255, 256, 1024].map((length) =>
    device(`Secret-${length}`, {
      secret: '\u00e9'.repeat(length / 2) + 'y',
      labels: { length: `${length}` },
    }),
  ),
  device('\u00c4RGER \u0130 \u03a3\u03a3', {
    productId: `T\u00fcr ${long}` as ProductId,
    labels: { a: '\u{1f514}' },
  }),
  device(`D\u{1f514}${long}`, { disabled: true, labels: { empty: '', long: `${long}${long}` } }),
  device('D\0', { labels: Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`key-${n}`, `${n}`])) }),
  device('no labels', { disabled: true }),
];

test('columns have the ids, products and labels of all devices, and no secret', async (t) => {
  const store = temporaryStore(t);
  await store.registry.environment.transaction(() => {
    for (const each of unlike) store.registry.put('device', each);
  });
  const registry = new RegistryStore(store.registry);
  const [scan, ...more] = readAll(registry);
  assert.ok(scan !== undefined && more.length === 0);
  const devices = registry.page('device', 100);
  assert.equal(devices.length, unlike.length);
  assert.deepEqual(
    textsOf(scan.ids),
    devices.map(({ deviceId }) => deviceId),
  );
  assert.deepEqual(
    textsOf(scan.lowerIds),
    devices.map(({ deviceId }) => deviceId.toLowerCase()),
  );
  assert.deepEqual(
    textsOf(scan.terms),
    devices.map(({ productId, labels = {} }) => {
      const lines = Object.entries(labels).map((label) => `${label.join('=')}\n`);
      return `\0${productId}\n${lines.join('')}`;
    }),
  );
});

test('scans follow one another without a gap, and end at the bound', async (t) => {
  const store = temporaryStore(t);
  const ids = Array.from({ length: 5000 }, (_, n) => `D-${String(n).padStart(5, '0')}`);
  await store.registry.environment.transaction(() => {
    for (const id of ids) store.registry.put('device', device(id));
  });
  const registry = new RegistryStore(store.registry);
  const scans = readAll(registry);
  assert.deepEqual(
    scans.map(({ ids: { ends } }) => ends.length),
    [2048, 2048, 904],
  );
  assert.deepEqual(
    scans.flatMap((scan) => textsOf(scan.ids)),
    ids,
  );
  const within = registry.scan('D-00010', 'D-00012');
  assert.deepEqual([textsOf(within.ids), within.isComplete], [['D-00011', 'D-00012'], true]);
  assert.equal(registry.scan('D-99999', null).ids.ends.length, 0);
});

test('a scan of long labels ends early', async (t) => {
  const store = temporaryStore(t);
  const labels = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`key-${n}`, long]));
  await store.registry.environment.transaction(() => {
    for (let n = 0; n < 200; n += 1) store.registry.put('device', device(`D-${n}`, { labels }));
  });
  const scans = readAll(new RegistryStore(store.registry));
  assert.ok(scans.length > 2);
  for (const { terms } of scans) assert.ok(terms.bytes.length < 300_000);
  assert.equal(new Set(scans.flatMap(({ ids }) => textsOf(ids))).size, 200);
});
