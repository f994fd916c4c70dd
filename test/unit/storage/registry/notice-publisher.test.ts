import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId, DeviceId, ProductId } from '../../../../src/model/ids.ts';
import { nextTurn } from '../../../../src/lib/clock.ts';
import { NoticePublisher } from '../../../../src/storage/registry/notice-publisher.ts';
import type { PlacedNotice } from '../../../../src/storage/registry/registry-notices.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../../../src/storage/registry/registry-write.ts';
import { noticesRetryMs } from '../../../../src/storage/lmdb/store-limits.ts';
import type { Device } from '../../../../src/model/registry.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { temporaryStore, type Ending } from '../../../support/temporary-store.ts';

const productId = 'doorbell' as ProductId;
const device: Device = {
  deviceId: 'D' as DeviceId,
  productId,
  secret: 'a secret of the device',
  expiresAt: null,
  disabled: false,
};

/** A log that stores the place of the newest event, and may refuse. */
class FakeEventLog {
  readonly appended: PlacedNotice[] = [];
  newestPlace = 0;
  failure: Error | null = null;

  async append(notices: readonly PlacedNotice[]): Promise<void> {
    if (this.failure !== null) throw this.failure;
    this.appended.push(...notices);
    this.newestPlace = notices.at(-1)?.place ?? this.newestPlace;
  }

  get types(): readonly string[] {
    return this.appended.map(({ event }) => event.type.replace('device.registry.', ''));
  }
}

async function scene(t: Ending) {
  const { registry: tables } = temporaryStore(t);
  const clock = new DrivenClock();
  const writer = new RegistryWriter(tables, new RegistryStore(tables), () => undefined, clock);
  await writer.put('application', { appId: 'A' as ApplicationId, name: 'an application' });
  await writer.put('product', { productId, appIds: ['A' as ApplicationId] });
  const { notices } = tables;
  assert.ok(notices !== null);
  const events = new FakeEventLog();
  const log = new FakeLog();
  const make = (): NoticePublisher => new NoticePublisher({ clock, log, notices, events });
  return { clock, writer, notices, events, make };
}

/** Publishes all pending notices with a publisher of its own. */
async function publishAll(publisher: NoticePublisher): Promise<void> {
  await publisher.start();
  await publisher.stop();
}

test('changes of an operator are published in order, and a change without effect is not', async (t) => {
  const { writer, events, notices, make, clock } = await scene(t);
  await writer.putDevice(device);
  await writer.putDevice(device);
  await writer.update('device', device.deviceId, (device) => ({ ...device, disabled: true }));
  assert.equal(notices.length, 2);
  await publishAll(make());
  assert.deepEqual(events.types, ['added', 'changed']);
  assert.deepEqual(events.appended[1]?.event, {
    type: 'device.registry.changed',
    data: { product_id: productId, by: null, changed: ['disabled'] },
    deviceId: device.deviceId,
    atMs: clock.wallMs(),
    epoch: null,
  });
  assert.equal(notices.length, 0);
});

test('a notice that a crash left after its event was published is not published again', async (t) => {
  const { writer, events, notices, make } = await scene(t);
  await writer.putDevice(device);
  await events.append(notices.read(10));
  await writer.update('device', device.deviceId, (device) => ({ ...device, disabled: true }));
  await publishAll(make());
  assert.deepEqual(events.types, ['added', 'changed']);
  assert.equal(notices.length, 0);
});

test('a registry that has lost published notices continues with later places', async (t) => {
  const { writer, events, make } = await scene(t);
  events.newestPlace = 41;
  await publishAll(make());
  await writer.putDevice(device);
  await publishAll(make());
  assert.deepEqual(
    events.appended.map(({ place }) => place),
    [42],
  );
});

test('a refused notice is published once the log accepts it', async (t) => {
  const { clock, writer, events, make } = await scene(t);
  await writer.putDevice(device);
  events.failure = new Error('the disk is full');
  const publisher = make();
  await publisher.start();
  while (clock.pendingTimers === 0) await nextTurn();
  events.failure = null;
  clock.advance(noticesRetryMs);
  await publisher.stop();
  assert.deepEqual(events.types, ['added']);
});

test('a device keeps its labels when an operator replaces it', async (t) => {
  const { writer, notices } = await scene(t);
  await writer.changeDevices('A' as ApplicationId, () => ({
    result: null,
    changes: [{ deviceId: device.deviceId, before: null, after: { ...device, labels: { floor: '2' } } }],
  }));
  const replaced = await writer.putDevice({ ...device, secret: 'another secret of it' });
  assert.deepEqual(replaced.ok && replaced.value.labels, { floor: '2' });
  assert.equal(notices.length, 2);
});
