import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from '../../../../src/model/ids.ts';
import type { Device } from '../../../../src/model/registry.ts';
import type {
  RegistryChange,
  SharedPlace,
  SharedRegistryChange,
} from '../../../../src/core/ports/mirrored.ts';
import { importInWorker } from '../../../../src/storage/registry/registry-thread.ts';
import { type AppliedChanges, packEntry } from '../../../../src/storage/registry/mirrored-rows.ts';
import { MirroredRegistryStore } from '../../../../src/storage/registry/mirrored-registry.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import { exportRegistry } from '../../../../src/storage/registry/registry-export.ts';
import { importRegistry } from '../../../../src/storage/registry/registry-import.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../../../src/storage/registry/registry-write.ts';
import { mirrorEntriesSlice } from '../../../../src/storage/lmdb/store-limits.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';
import { closedAfter, temporaryStore, writeBeside, type Ending } from '../../../support/temporary-store.ts';

const request = { replace: false, skipUnchanged: false };

function openNode(t: Ending, store: Store = temporaryStore(t)) {
  const log = new FakeLog();
  const applied: AppliedChanges[] = [];
  const mirror = new MirroredRegistryStore({
    tables: store.registry,
    log,
    applied: (one) => applied.push(one),
  });
  const registry = new RegistryStore(store.registry);
  const writer = new RegistryWriter(store.registry, registry, () => mirror.changed());
  const text = (): string =>
    Array.from(exportRegistry(store.registry, { form: 'ndjson', withSecrets: true })).join('');
  const faults = (): unknown[] => log.lines.flatMap(({ fields }) => ('fault' in fields ? fields.fault : []));
  return { store, mirror, registry, writer, applied, text, faults };
}

/** A node in a cluster with the sample's entries, all of them shared. */
async function sampleNode(t: Ending) {
  const node = openNode(t);
  await node.mirror.adopt();
  const file = writeBeside(node.store, 'registry.json', JSON.stringify(sampleRegistry));
  assert.ok(importRegistry(node.store.registry, { ...request, file }).ok);
  const unshared = node.mirror.unshared(100);
  await node.mirror.shared(placedAt(1, unshared));
  const changes = unshared.map(({ change }) => change);
  await node.mirror.apply(standingAt(1, ...changes), 1);
  assert.deepEqual(node.mirror.unshared(100), []);
  return node;
}

const deviceId = 'TESTDEVICE01' as DeviceId;
const sample: Device = {
  deviceId,
  productId: 'doorbell' as ProductId,
  secret: 'secret-1-of-a-device',
  expiresAt: null,
  disabled: false,
};
const rowOf = (device: Device): RegistryChange => ({
  kind: 'device',
  id: device.deviceId,
  row: packEntry('device', device),
});
const gone = (kind: string, id: string): RegistryChange => ({ kind, id, row: null });
/** Rows as the shared registry has them. */
const standingAt = (position: number, ...changes: readonly RegistryChange[]): SharedRegistryChange[] =>
  changes.map((change) => ({ ...change, position }));
const placedAt = (position: number, places: readonly { readonly place: number }[]): SharedPlace[] =>
  places.map(({ place }) => ({ place, position }));
const named = ({ kind, id }: RegistryChange): string => `${kind} ${id}`;

test('a short secret that another node allowed is accepted', async (t) => {
  const { mirror, registry } = await sampleNode(t);
  await mirror.apply(standingAt(41, rowOf({ ...sample, secret: 's' })), 41);
  registry.purge();
  assert.equal(registry.findDevice(deviceId)?.secret, 's');
});

test('changes of other nodes are applied, and changed credentials reported', async (t) => {
  const { mirror, registry, applied } = await sampleNode(t);
  await mirror.apply(
    standingAt(
      41,
      rowOf({ ...sample, disabled: true }),
      rowOf({ ...sample, deviceId: 'NEW' as DeviceId }),
      gone('credential', 'AKTEST'),
      gone('device', 'TESTDEVICE02'),
      gone('device', 'NOBODY'),
    ),
    41,
  );
  registry.purge();
  assert.equal(registry.findDevice(deviceId)?.disabled, true);
  assert.equal(registry.findDevice('NEW' as DeviceId)?.secret, 'secret-1-of-a-device');
  assert.equal(registry.findCredential('AKTEST' as AccessKeyId), null);
  assert.equal(mirror.position, 41);
  assert.deepEqual(
    applied.map(({ count, credentials }) => [count, credentials]),
    [[4, ['AKTEST']]],
  );
  assert.deepEqual(mirror.unshared(10), [], 'changes of other nodes are not shared again');
});

test('an unchanged entry is not put again, and no listener is notified', async (t) => {
  const { mirror, applied } = await sampleNode(t);
  await mirror.apply(standingAt(5, rowOf(sample)), 5);
  assert.deepEqual(applied, []);
  assert.equal(mirror.position, 5);
});

test('a position without changes is stored, survives a restart, and may decrease', async (t) => {
  const { mirror, store } = await sampleNode(t);
  await mirror.apply([], 7);
  await mirror.apply([], 3);
  await store.close();
  assert.equal(openNode(t, closedAfter(t, openStore(store.directory))).mirror.position, 3);
});

test('an invalid entry is skipped with a log line, and the others are applied', async (t) => {
  const { mirror, registry, faults, text } = await sampleNode(t);
  const before = text();
  const { row } = rowOf(sample);
  assert.ok(row !== null);
  await mirror.apply(
    standingAt(
      9,
      { kind: 'planet', id: 'x', row },
      { kind: 'device', id: 'ANOTHER', row: Buffer.from([0xc1]) },
      { kind: 'device', id: '', row },
      { kind: 'device', id: 'x'.repeat(256), row },
      { kind: 'device', id: 'D', row: Buffer.from([0x93, 0x01, 0x02, 0x03]) },
      { kind: 'device', id: 'D', row: Buffer.from([0x94, 0x01, 0x02, 0x03, 0x04]) },
      { kind: 'device', id: 'D', row: Buffer.alloc(70_000, 0x90) },
      {
        kind: 'application',
        id: 'a',
        row: packEntry('application', { appId: 'a' as ApplicationId, name: '' }),
      },
      { kind: 'webhook', id: 'no line feed', row: Buffer.from([0x92, 0xa1, 0x61, 0x91, 0xa1, 0x2a]) },
      gone('device', ''),
      gone('device', 'x'.repeat(5000)),
    ),
    9,
  );
  assert.equal(faults().length, 11);
  assert.deepEqual(faults().slice(0, 2), [
    '"planet" is no kind of entry',
    'device "ANOTHER": its row has not the form of this release',
  ]);
  assert.ok(faults().every((fault) => typeof fault === 'string' && !fault.includes('secret-1-of-a-device')));
  assert.equal(text(), before);
  await mirror.apply(
    standingAt(10, { kind: 'planet', id: 'x', row }, rowOf({ ...sample, deviceId: 'GOOD' as DeviceId })),
    10,
  );
  registry.purge();
  assert.notEqual(registry.findDevice('GOOD' as DeviceId), null);
  assert.equal(mirror.position, 10);
});

test('many changes are applied in order, the last of an entry wins, and the position moves at the end', async (t) => {
  const { mirror, registry, applied } = await sampleNode(t);
  const changes = Array.from({ length: 2 * mirrorEntriesSlice + 1 }, (_, i) =>
    rowOf({ ...sample, deviceId: `D${i % (mirrorEntriesSlice + 1)}` as DeviceId, expiresAt: i }),
  );
  await mirror.apply(standingAt(77, ...changes), 77);
  registry.purge();
  assert.equal(registry.findDevice('D0' as DeviceId)?.expiresAt, mirrorEntriesSlice + 1);
  assert.equal(registry.findDevice(`D${mirrorEntriesSlice}` as DeviceId)?.expiresAt, mirrorEntriesSlice);
  assert.equal(mirror.position, 77);
  assert.equal(applied.length, 3);
});

test('changes made here are recorded in order with their rows, once, and followers notified', async (t) => {
  const { mirror, writer } = await sampleNode(t);
  let notified = 0;
  const cancel = mirror.follow(() => (notified += 1));
  await writer.update('device', deviceId, (device) => ({ ...device, disabled: true }));
  await writer.putDevice({ ...sample, deviceId: 'NEW' as DeviceId });
  await writer.update('credential', 'AKTEST', (credential) => ({
    ...credential,
    revoked: true,
  }));
  await writer.putDevice({ ...sample, disabled: true, secret: 'other' });
  cancel();
  await writer.putDevice({ ...sample, disabled: true, secret: 'other' });
  assert.equal(notified, 4);
  const unshared = mirror.unshared(10);
  assert.deepEqual(
    unshared.map(({ change }) => named(change)),
    ['device NEW', 'credential AKTEST', `device ${deviceId}`],
  );
  assert.deepEqual(unshared[2]?.change, rowOf({ ...sample, disabled: true, secret: 'other' }));
  assert.equal(mirror.unshared(2).length, 2);
});

test('a change without effect, or a refused one, is not recorded', async (t) => {
  const { mirror, writer } = await sampleNode(t);
  await writer.putDevice(sample);
  await writer.update('device', deviceId, (device) => ({ ...device, disabled: false }));
  assert.ok(!(await writer.putDevice({ ...sample, productId: 'gone' as ProductId })).ok);
  assert.deepEqual(mirror.unshared(10), []);
});

test('places are not reused, and an entry that changed again is not shared yet', async (t) => {
  const { mirror, writer } = await sampleNode(t);
  await writer.update('device', deviceId, (device) => ({ ...device, disabled: true }));
  const [first] = mirror.unshared(1);
  assert.ok(first !== undefined);
  await writer.update('device', deviceId, (device) => ({ ...device, disabled: false }));
  await mirror.shared(placedAt(2, [first]));
  const [second] = mirror.unshared(10);
  assert.ok(second !== undefined && second.place > first.place);
  await mirror.shared(placedAt(3, [second, second]));
  assert.deepEqual(mirror.unshared(10), []);
  await writer.update('device', deviceId, (device) => ({ ...device, disabled: true }));
  assert.ok((mirror.unshared(1)[0]?.place ?? 0) > second.place);
});

test('a later change of another node wins, even if it arrived before the own change counted as shared', async (t) => {
  const { mirror, writer, registry, applied } = await sampleNode(t);
  await writer.putDevice({ ...sample, secret: 'ours' });
  await writer.update('bridge', 'bridge-1', (bridge) => ({ ...bridge, revoked: true }));
  const places = placedAt(11, mirror.unshared(10));
  await mirror.apply(
    standingAt(12, rowOf({ ...sample, secret: 'ours' }), rowOf({ ...sample, disabled: true })),
    12,
  );
  await mirror.apply(standingAt(13, gone('bridge', 'bridge-1')), 13);
  await mirror.shared(places);
  registry.purge();
  assert.deepEqual(registry.findDevice(deviceId), { ...sample, disabled: true });
  assert.equal(registry.find('bridge', 'bridge-1'), null);
  assert.deepEqual(
    applied.map(({ count }) => count),
    [2],
    'the device and the bridge',
  );
  assert.deepEqual(mirror.unshared(10), []);
});

test('entries of a recreated NATS registry win over those shared with its predecessor', async (t) => {
  const { mirror, writer, registry } = await sampleNode(t);
  await writer.update('device', deviceId, (device) => ({ ...device, disabled: true }));
  await mirror.shared(placedAt(1000, mirror.unshared(1)));
  await mirror.apply([], 0);
  await mirror.apply(standingAt(1, rowOf({ ...sample, secret: 'theirs' })), 1);
  registry.purge();
  assert.equal(registry.findDevice(deviceId)?.secret, 'theirs');
});

test('an import on its thread records only real changes', async (t) => {
  const { store, mirror } = await sampleNode(t);
  const devices = [
    ...sampleRegistry.devices.map((device) => ({ ...device })),
    { ...sampleRegistry.devices[0] },
  ];
  Object.assign(devices[2] ?? {}, { device_id: 'NEW' });
  Object.assign(devices[1] ?? {}, { disabled: false });
  const file = writeBeside(store, 'more.json', JSON.stringify({ ...sampleRegistry, devices }));
  assert.ok((await importInWorker(store.directory, { ...request, file })).ok);
  store.registry.environment.refresh();
  assert.deepEqual(
    mirror.unshared(10).map(({ change }) => named(change)),
    ['device TESTDEVICE02', 'device NEW'],
  );
});

test('a replacing import records changed and removed entries, and keeps those of the file', async (t) => {
  const { store, mirror, text } = await sampleNode(t);
  const [first] = sampleRegistry.devices;
  const smaller = {
    ...sampleRegistry,
    devices: [{ ...first, secret: 'another secret of it' }],
    webhooks: [],
  };
  const file = writeBeside(store, 'smaller.json', JSON.stringify(smaller));
  assert.ok(
    (await importInWorker(store.directory, { file, replace: true, deletions: 'any', skipUnchanged: false }))
      .ok,
  );
  store.registry.environment.refresh();
  const changes = mirror.unshared(10).map(({ change }) => change);
  assert.deepEqual(
    changes.map((change) => [named(change), change.row === null]),
    [
      [`device ${deviceId}`, false],
      ['device TESTDEVICE02', true],
      ['webhook 2818153\nhttps://backend.example/hook', true],
    ],
  );
  const alone = temporaryStore(t);
  assert.ok(
    importRegistry(alone.registry, { file, replace: true, deletions: 'any', skipUnchanged: false }).ok,
  );
  assert.equal(text(), openNode(t, alone).text());
});

test('a replacing import with broken references changes and records nothing', async (t) => {
  const { store, mirror, text } = await sampleNode(t);
  const before = text();
  const file = writeBeside(store, 'broken.json', JSON.stringify({ devices: sampleRegistry.devices }));
  const result = importRegistry(store.registry, {
    file,
    replace: true,
    deletions: 'any',
    skipUnchanged: false,
  });
  assert.ok(!result.ok && result.error.reason.includes('does not exist'));
  assert.equal(text(), before);
  assert.deepEqual(mirror.unshared(10), []);
});

test('a store that was never part of a cluster records nothing; one that was continues after reopening', async (t) => {
  const { store, mirror, writer } = openNode(t);
  await writer.put('application', { appId: 'a' as ApplicationId, name: 'n' });
  assert.deepEqual(mirror.unshared(10), []);
  await mirror.adopt();
  await store.close();
  const next = openNode(t, closedAfter(t, openStore(store.directory)));
  await next.writer.put('application', { appId: 'b' as ApplicationId, name: 'n' });
  assert.deepEqual(
    next.mirror.unshared(10).map(({ change }) => named(change)),
    ['application a', 'application b'],
  );
});

test('entries from before the node joined a cluster are offered once, and yield to the shared ones', async (t) => {
  const { store, mirror, text } = openNode(t);
  const file = writeBeside(store, 'registry.json', JSON.stringify(sampleRegistry));
  assert.ok(importRegistry(store.registry, { ...request, file }).ok);
  await mirror.adopt();
  const offered = mirror.unshared(100).length;
  assert.equal(offered, 7);
  await mirror.adopt();
  assert.equal(mirror.unshared(100).length, offered);
  await mirror.apply(standingAt(4, rowOf({ ...sample, secret: 'theirs' }), gone('credential', 'AKTEST')), 4);
  assert.equal(mirror.unshared(100).length, offered - 2);
  assert.ok(text().includes('theirs') && !text().includes('AKTEST'));
});
