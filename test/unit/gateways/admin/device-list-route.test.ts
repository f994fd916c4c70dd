/** Pages of devices with the states of their connections, on a single server and in a cluster. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedStateUnavailable } from '../../../../src/core/ports/session-locator.ts';
import {
  deviceListRoute,
  type DeviceListJson,
  type DeviceListRouteDeps,
} from '../../../../src/gateways/admin/device-list-route.ts';
import { deviceSearch } from '../../../../src/gateways/admin/device-search.ts';
import { DeviceIndex } from '../../../../src/gateways/admin/searched-devices.ts';
import type { ScannedDevices, TextColumn } from '../../../../src/core/ports/device-registry.ts';
import { byteTextOf } from '../../../../src/lib/utf8.ts';
import type { ConnectionRecords } from '../../../../src/core/ports/records.ts';
import type { Peers } from '../../../../src/core/ports/peers.ts';
import type { PeerQuestion } from '../../../../src/protocol/cluster/peer-message.ts';
import type { DeviceRow, MemberId, SharedConnection } from '../../../../src/model/cluster.ts';
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

type Found = ReturnType<Peers['ask']>;

/** A cluster; `ask` gives the answers of the other members. */
function cluster(
  locator: object,
  ask: (member: string, question: PeerQuestion) => unknown = () => ({ ok: true, value: [] }),
): DeviceListRouteDeps['cluster'] {
  const members = ['n1', 'n2', 'n3'] as unknown as readonly MemberId[];
  const peers = {
    self: members[0],
    alive: () => members,
    ask: async (...asked: Parameters<typeof ask>) => (await ask(...asked)) as Awaited<Found>,
  };
  return { locator, peers } as unknown as DeviceListRouteDeps['cluster'];
}

interface Scene extends Partial<Omit<DeviceListRouteDeps, 'sleepRecords'>> {
  readonly devices: readonly Device[];
  readonly sleepRecords?: Pick<ConnectionRecords, 'read'>;
}

/** The route, and its answer to a query. */
function scene({ devices, sleepRecords = { read: () => null }, ...deps }: Scene) {
  let follower: ((events: readonly LoggedEvent[]) => void) | null = null;
  const told = (type: string, deviceId: string, epoch: number | null = null): void =>
    follower?.([{ type, deviceId, epoch } as unknown as LoggedEvent]);
  const clock = new DrivenClock(1_000_000);
  const idsOf = (wanted: (device: Device) => boolean) => devices.filter(wanted).map(byteIdOf).sort();
  const records = {
    ...sleepRecords,
    ids: (first: string, last: string) =>
      idsOf(({ deviceId: id }) => sleepRecords.read(id) !== null).filter((id) => id >= first && id <= last),
  };
  let reads = 0;
  const registry = {
    changes: 1,
    peekDevice: (id: DeviceId) => devices.find(({ deviceId }) => deviceId === id) ?? null,
    scan: (after: string | null, until: string | null): ScannedDevices => {
      reads += 1;
      const within = devices.filter((each) => {
        const id = byteIdOf(each);
        return (after === null || id > after) && (until === null || id <= until);
      });
      return columnsOf(within.slice(0, blockDevices), within.length <= blockDevices);
    },
  };
  const signalRecords = { read: () => null, ids: () => [] };
  const index = new DeviceIndex({
    clock,
    registry,
    events: {
      follow: (listener) => {
        follower = listener;
        return () => undefined;
      },
    },
    sleepRecords: records,
    signalRecords,
  });
  const directory = { actors: () => [].values(), size: 0, ...(deps.directory ?? { find: () => null }) };
  const search = deviceSearch({ clock, registry, directory, index });
  const route = deviceListRoute({
    clock,
    registry,
    search,
    directory,
    sleepRecords: records,
    signalRecords,
    cluster: null,
    ...deps,
  });
  const list = async (query: Readonly<Record<string, string>> = {}): Promise<DeviceListJson> => {
    const asked = new URLSearchParams(query).toString();
    const reply = await askRoute([route], 'GET', '/v1/device/list', asked);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body as DeviceListJson;
  };
  return { route, list, search, told, index, clock, registry, reads: () => reads };
}

/** Few, so that a test has several blocks. */
const blockDevices = 256;

function byteIdOf({ deviceId }: Device): string {
  return byteTextOf(deviceId);
}

function columnsOf(devices: readonly Device[], isComplete: boolean): ScannedDevices {
  const terms = devices.map(({ productId, labels = {} }) =>
    Object.entries(labels).reduce((lines, label) => `${lines}${label.join('=')}\n`, `\0${productId}\n`),
  );
  return {
    ids: columnOf(devices.map(({ deviceId }) => deviceId)),
    lowerIds: columnOf(devices.map(({ deviceId }) => deviceId.toLowerCase())),
    terms: columnOf(terms),
    isComplete,
  };
}

function columnOf(texts: readonly string[]): TextColumn {
  let length = 0;
  const ends = texts.map((text) => (length += Buffer.byteLength(text)));
  return { bytes: Buffer.from(texts.join('')), ends: Uint32Array.from(ends) };
}

function many(count: number): Device[] {
  return Array.from({ length: count }, (_, at) => device(`D-${String(at).padStart(6, '0')}`));
}

test('on a single server the state comes from its sockets and records', async () => {
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

test('in a cluster the state comes from the shared row', async () => {
  const rows: Readonly<Record<string, DeviceRow>> = {
    A: { sleep: nobody, signal: { ...nobody, epoch: 1, slots } },
    B: { sleep: { ...nobody, epoch: 4, slots, lastHeartbeatAt: 77 }, signal: nobody },
    C: { sleep: { ...nobody, epoch: 4, lastOfflineAt: 55 }, signal: nobody },
  };
  const locator = { find: (id: DeviceId) => rows[id] ?? { sleep: nobody, signal: nobody } };
  const { list } = scene({
    devices: ['A', 'B', 'C', 'D'].map((id) => device(id)),
    cluster: cluster(locator),
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
    (await list({ state: 'never' })).devices.map(({ device_id: id }) => id),
    ['D'],
  );
});

test('while the shared rows are unavailable the list is refused, not invented', async () => {
  const locator = { find: () => Promise.reject(new SharedStateUnavailable('planted')) };
  const { route } = scene({
    devices: [device('A')],
    cluster: cluster(locator),
  });
  const reply = await askRoute([route], 'GET', '/v1/device/list');
  assert.equal(reply.status, 503);
});

test('pages follow one another without a gap, by their next', async () => {
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

test('a search without matches ends at the last device, or after 500 that no member holds, with a place to continue', async () => {
  const devices = many(12_000);
  const { list } = scene({ devices });
  const none = { devices: [], next: null, silent: [] };
  assert.deepEqual(await list({ product_id: 'none' }), none);
  assert.deepEqual(await list({ state: 'online', after: 'D-009999' }), none);
  const locator = { find: () => ({ sleep: nobody, signal: nobody }) };
  const shared = scene({ devices, cluster: cluster(locator) });
  assert.deepEqual(await shared.list({ state: 'offline' }), { ...none, next: 'D-000499' });
  assert.deepEqual(await shared.list({ label: 'none' }), none);
});

test('a search covers all devices, by part of the id, label, product and state', async () => {
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

test('pages of a search follow one another without a gap', async () => {
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

test('a search sees a device that was added, changed, removed or logged in, after the event', async () => {
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
  told('device.sleep.login', 'D-000001', 1);
  assert.deepEqual(await found({ state: 'offline' }), ['D-000001']);
  devices.splice(300, 1);
  devices.push(device('E', { labels: { new: 'yes' } }));
  told('device.registry.removed', 'D-000300');
  told('device.registry.added', 'E');
  assert.deepEqual(await found({ contains: '000300' }), []);
  assert.deepEqual(await found({ label: 'new=yes' }), ['E']);
});

test('the first list starts reading all devices, one block at a time; the next search reads a changed block', async () => {
  const { list, told, clock, reads } = scene({ devices: many(600) });
  clock.advance(1000);
  assert.equal(reads(), 0);
  await list({});
  clock.advance(1000);
  const read = reads();
  assert.equal(read, 3);
  assert.equal((await list({ contains: 'd', limit: '200' })).devices.length, 200);
  assert.equal(reads(), read);
  told('device.registry.changed', 'D-000300');
  clock.advance(1000);
  assert.equal(reads(), read);
  await list({ contains: 'none' });
  assert.equal(reads(), read + 1);
});

test('an import invalidates all devices', async () => {
  const devices = many(600);
  const { list, registry } = scene({ devices });
  assert.equal((await list({ contains: 'E' })).devices.length, 0);
  devices.push(device('E'));
  registry.changes += 1;
  assert.equal((await list({ contains: 'E' })).devices.length, 1);
});

test('ids sort by their bytes, characters beyond U+FFFF last', async () => {
  const { list } = scene({ devices: [device('D\uffee'), device('D\u{1f514}')] });
  const first = await list({ contains: 'd', limit: '1' });
  assert.deepEqual(
    first.devices.map((each) => each.device_id),
    ['D\uffee'],
  );
  const second = await list({ contains: 'd', after: first.next ?? '' });
  assert.deepEqual(
    second.devices.map((each) => each.device_id),
    ['D\u{1f514}'],
  );
});

test('the members that hold sleeping devices find them, and a silent member is named', async () => {
  const asleep: DeviceRow = { sleep: { ...nobody, epoch: 1, slots }, signal: nobody };
  const rows: Readonly<Record<string, DeviceRow>> = { B: asleep, C: asleep };
  const locator = { find: (id: DeviceId) => rows[id] ?? { sleep: nobody, signal: nobody } };
  const asked: unknown[] = [];
  const { list } = scene({
    devices: ['A', 'B', 'C', 'D'].map((id) => device(id)),
    cluster: cluster(locator, (member, question) => {
      asked.push(question);
      // It has ended at n2 meanwhile.
      return member === 'n2' ? { ok: true, value: ['D', 'C', 'B'] } : { ok: false, error: 'unanswered' };
    }),
  });
  const found = await list({ state: 'asleep' });
  assert.deepEqual(
    found.devices.map((each) => each.device_id),
    ['B', 'C'],
  );
  assert.deepEqual([found.next, found.silent], [null, ['n3']]);
  const sought = { prefix: '', contains: '', state: 'asleep', limit: 50 };
  assert.deepEqual(asked, [
    { kind: 'held-devices', sought },
    { kind: 'held-devices', sought },
  ]);
  const first = await list({ state: 'asleep', limit: '1' });
  assert.deepEqual([first.devices.map((each) => each.device_id), first.next], [['B'], 'B']);
});

/** Each id has a session of a kind: `signal`, `sleep` or none. */
function directoryOf(kinds: Readonly<Record<string, string>>): DeviceListRouteDeps['directory'] {
  const actors = new Map(
    Object.entries(kinds).map(([deviceId, kind]) => [
      deviceId,
      { deviceId, epoch: (asked: string) => Number(asked === kind), heartbeatAt: () => 900 },
    ]),
  );
  const directory = {
    size: actors.size,
    find: (id: DeviceId) => actors.get(id) ?? null,
    actors: () => actors.values(),
  };
  return directory as unknown as DeviceListRouteDeps['directory'];
}

for (const size of [7, 1_000_000])
  test(`online and sleeping devices are found in order among ${size} with a session`, async () => {
    const kinds = {
      G: 'signal',
      B: 'sleep',
      E: 'signal',
      A: 'signal',
      C: 'none',
      F: 'signal',
      'not registered': 'signal',
    };
    const directory = { ...directoryOf(kinds), size };
    const { list } = scene({
      devices: Array.from('ABCDEFG', (id) => device(id, { labels: { floor: id > 'D' ? '2' : '1' } })),
      directory,
    });
    const found = async (query: Readonly<Record<string, string>>): Promise<string> =>
      (await list(query)).devices.map((each) => each.device_id).join('');
    assert.equal(await found({ state: 'online' }), 'AEFG');
    assert.equal(await found({ state: 'asleep' }), 'B');
    assert.equal(await found({ state: 'online', after: 'A', contains: 'f' }), 'F');
    assert.equal(await found({ state: 'online', label: 'floor=2' }), 'EFG');
    assert.equal(await found({ state: 'online', product_id: 'doorbell', prefix: 'A' }), 'A');
    assert.equal(await found({ state: 'never', label: 'floor=1' }), 'CD');
    assert.equal(await found({ state: 'offline' }), '');
    const first = await list({ state: 'online', limit: '2' });
    assert.deepEqual([first.devices.map((each) => each.device_id), first.next], [['A', 'E'], 'E']);
  });
