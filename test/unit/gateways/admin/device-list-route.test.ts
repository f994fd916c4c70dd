/** Pages of devices with the states of their connections, alone and among several members. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedStateUnavailable } from '../../../../src/core/ports/session-locator.ts';
import { deviceListRoute } from '../../../../src/gateways/admin/device-list-route.ts';
import type { DeviceListJson, DeviceListRouteDeps } from '../../../../src/gateways/admin/listed-device.ts';
import type { DeviceRow, SharedConnection } from '../../../../src/model/cluster.ts';
import type { ConnectionRecord } from '../../../../src/model/connectivity.ts';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId, ProductId, SessionId } from '../../../../src/model/ids.ts';
import type { Device } from '../../../../src/model/registry.ts';
import { askRoute } from '../../../support/ask-route.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

function device(id: string, terms: Partial<Device> = {}): Device {
  const productId = 'doorbell' as ProductId;
  return { deviceId: id as DeviceId, productId, secret: 's', expiresAt: null, disabled: false, ...terms };
}

function record(epoch: number, lastLoginAt: number): ConnectionRecord {
  return { epoch, openSession: null, lastLoginAt, lastHeartbeatAt: null, lastOfflineAt: null };
}

const nobody: SharedConnection = {
  epoch: 0,
  slots: [],
  lastLoginAt: null,
  lastHeartbeatAt: null,
  lastOfflineAt: null,
};

const slots = [{ member: 'm', session: 's' as SessionId, epoch: 1 }] as unknown as SharedConnection['slots'];

interface Scene extends Partial<DeviceListRouteDeps> {
  readonly devices: readonly Device[];
}

/** The route, and its answer to a query. */
function scene({ devices, ...deps }: Scene) {
  let follower: ((events: readonly LoggedEvent[]) => void) | null = null;
  const told = (type: string, deviceId: string): void =>
    follower?.([{ type, deviceId } as unknown as LoggedEvent]);
  const route = deviceListRoute({
    clock: new DrivenClock(1_000_000),
    events: {
      follow: (listener) => {
        follower = listener;
        return () => undefined;
      },
    },
    registry: {
      changes: 1,
      peekDevice: (id) => devices.find(({ deviceId }) => deviceId === id) ?? null,
      devicesBehind: (after, prefix, limit) =>
        devices
          .filter(({ deviceId: id }) => id.startsWith(prefix) && (after === null || id > after))
          .slice(0, limit),
    },
    directory: { find: () => null, actors: () => [].values() },
    sleepRecords: { read: () => null },
    signalRecords: { read: () => null },
    cluster: null,
    ...deps,
  });
  const list = async (query: Readonly<Record<string, string>> = {}): Promise<DeviceListJson> => {
    const asked = new URLSearchParams(query).toString();
    const reply = await askRoute([route], 'GET', '/v1/device/list', asked);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body as DeviceListJson;
  };
  return { route, list, told };
}

function many(count: number): Device[] {
  return Array.from({ length: count }, (_, at) => device(`D-${String(at).padStart(6, '0')}`));
}

test('alone a device is what its sockets here and its records say', async () => {
  const held = { find: (id: DeviceId) => (id === 'A' || id === 'B' ? actor(id) : null) };
  const actor = (id: DeviceId) => ({
    epoch: (kind: string) => Number(kind === (id === 'A' ? 'signal' : 'sleep')),
    heartbeatAt: () => 900,
  });
  const { list } = scene({
    devices: [device('A'), device('B'), device('C', { disabled: true }), device('D', { expiresAt: 999 })],
    directory: held as unknown as DeviceListRouteDeps['directory'],
    sleepRecords: { read: (id) => (id === 'C' ? record(3, 500) : null) },
  });
  assert.deepEqual(
    (await list()).devices.map((each) => [each.device_id, each.state, each.last_seen_at]),
    [
      ['A', 'online', 900],
      ['B', 'asleep', 900],
      ['C', 'offline', 500],
      ['D', 'never', null],
    ],
  );
  const { devices } = await list();
  assert.deepEqual(
    devices.map(({ disabled, expired }) => [disabled, expired]),
    [
      [false, false],
      [false, false],
      [true, false],
      [false, true],
    ],
  );
});

test('among several members a device is what its shared row says', async () => {
  const rows: Readonly<Record<string, DeviceRow>> = {
    A: { sleep: nobody, signal: { ...nobody, epoch: 1, slots } },
    B: { sleep: { ...nobody, epoch: 4, slots, lastHeartbeatAt: 77 }, signal: nobody },
    C: { sleep: { ...nobody, epoch: 4, lastOfflineAt: 55 }, signal: nobody },
  };
  const locator = { find: (id: DeviceId) => rows[id] ?? { sleep: nobody, signal: nobody } };
  const { list } = scene({
    devices: ['A', 'B', 'C', 'D'].map((id) => device(id)),
    cluster: { locator } as unknown as DeviceListRouteDeps['cluster'],
  });
  assert.deepEqual(
    (await list()).devices.map((each) => [each.state, each.last_seen_at]),
    [
      ['online', null],
      ['asleep', 77],
      ['offline', 55],
      ['never', null],
    ],
  );
  assert.deepEqual(
    (await list({ state: 'asleep' })).devices.map(({ device_id: id }) => id),
    ['B'],
  );
});

test('where the shared rows cannot be read the list is refused, not made up', async () => {
  const locator = { find: () => Promise.reject(new SharedStateUnavailable('planted')) };
  const { route } = scene({
    devices: [device('A')],
    cluster: { locator } as unknown as DeviceListRouteDeps['cluster'],
  });
  const reply = await askRoute([route], 'GET', '/v1/device/list');
  assert.equal(reply.status, 503);
});

test('pages follow one another without a gap, by the next of each', async () => {
  const { list } = scene({ devices: many(123) });
  const first = await list();
  const second = await list({ after: first.next ?? '' });
  const third = await list({ after: second.next ?? '' });
  const ids = [first, second, third].flatMap(({ devices }) => devices.map(({ device_id: id }) => id));
  assert.deepEqual(
    ids,
    many(123).map(({ deviceId }) => deviceId),
  );
  assert.equal(third.next, null);
  assert.deepEqual((await list({ prefix: 'D-00012' })).devices.length, 3);
});

test('a search that finds nothing ends with the last device, after 500 among several members, with the place to go on', async () => {
  const devices = many(12_000);
  const { list } = scene({ devices });
  assert.deepEqual(await list({ product_id: 'none' }), { devices: [], next: null });
  assert.deepEqual(await list({ state: 'online', after: 'D-009999' }), { devices: [], next: null });
  const locator = { find: () => ({ sleep: nobody, signal: nobody }) };
  const cluster = { locator } as unknown as DeviceListRouteDeps['cluster'];
  const shared = scene({ devices, cluster });
  assert.deepEqual(await shared.list({ state: 'online' }), { devices: [], next: 'D-000499' });
});

test('a search answers for all devices, by a part of the id, a label, the product and the state', async () => {
  const fleet = many(12_000);
  fleet[11_900] = device('D-011900', { labels: { flat: '7', floor: '2' } });
  fleet[11_950] = device('D-011950', { labels: { flat: '77' }, productId: 'bell' as ProductId });
  const { list } = scene({
    devices: fleet,
    sleepRecords: { read: (id) => (id === 'D-011999' ? null : record(1, 500)) },
  });
  const found = async (query: Readonly<Record<string, string>>): Promise<string[]> =>
    (await list(query)).devices.map((each) => each.device_id);
  assert.deepEqual(
    await found({ contains: 'd-01199', limit: '200' }),
    Array.from({ length: 10 }, (_, n) => `D-01199${n}`),
  );
  assert.deepEqual(await found({ label: 'flat=7' }), ['D-011900']);
  assert.deepEqual(await found({ label: 'flat' }), ['D-011900', 'D-011950']);
  assert.deepEqual(await found({ label: 'flat', product_id: 'bell' }), ['D-011950']);
  assert.deepEqual(await found({ state: 'never' }), ['D-011999']);
  assert.deepEqual(await found({ state: 'never' }), ['D-011999'], 'also once it is known');
  assert.deepEqual(await found({ contains: '[.*' }), [], 'a part is no pattern');
});

test('pages of a search follow each other without a gap', async () => {
  const { list } = scene({ devices: many(600) });
  const seen: string[] = [];
  for (let after: string | null = ''; after !== null;) {
    const { devices, next }: DeviceListJson = await list({
      contains: '5',
      prefix: 'D-',
      limit: '40',
      ...(after !== '' && { after }),
    });
    seen.push(...devices.map((each) => each.device_id));
    after = next;
  }
  const wanted = many(600).filter(({ deviceId: id }) => id.includes('5'));
  assert.deepEqual(
    seen,
    wanted.map(({ deviceId: id }) => id),
  );
});

test('a search sees a device that was added, changed or removed, and one that has logged in, behind the event', async () => {
  const devices = many(700);
  const logins = new Set<string>();
  const { list, told } = scene({
    devices,
    sleepRecords: { read: (id) => (logins.has(id) ? record(1, 500) : null) },
  });
  const found = async (query: Readonly<Record<string, string>>): Promise<string[]> =>
    (await list(query)).devices.map((each) => each.device_id);
  assert.deepEqual(await found({ state: 'offline' }), []);
  logins.add('D-000001');
  told('device.sleep.login', 'D-000001');
  assert.deepEqual(await found({ state: 'offline' }), ['D-000001']);
  devices.splice(300, 1);
  devices.push(device('E', { labels: { new: 'yes' } }));
  told('device.registry.removed', 'D-000300');
  told('device.registry.added', 'E');
  assert.deepEqual(await found({ contains: '000300' }), []);
  assert.deepEqual(await found({ label: 'new=yes' }), ['E']);
});
