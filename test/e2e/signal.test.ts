/** A controller at the whole server, over real sockets: its record, events and metrics. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { deviceIdBytesMax, signalHeartbeatSeconds, signalMediaBytesMax } from '../../src/model/limits.ts';
import {
  clearDevices,
  metric,
  metricsOf,
  opsOf,
  startDrivenServer,
  type DrivenServer,
} from '../support/driven-server.ts';
import { nextTurn } from '../support/event-loop.ts';
import { EventReader, readLog } from '../support/event-reader.ts';
import { HeldStore } from '../support/held-store.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { dismissal, loginText, SignalPeer } from '../support/signal-peer.ts';

let server: DrivenServer;
before(async () => {
  server = await startDrivenServer({ overrides: ['registry.allow_short_secrets=true'] });
});
afterEach(() => clearDevices(server, ['TESTDEVICE01', 'SLEEPING01', 'SLEEPING02']));
after(async () => {
  await server.stop();
  assert.deepEqual(
    server.log.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

interface SignalRecord {
  readonly is_online: boolean;
  readonly last_login_at: number | null;
  readonly last_heartbeat_at: number | null;
  readonly last_offline_at: number | null;
}

async function signalOf(deviceId: string, from = server): Promise<SignalRecord> {
  const answer = await from.api.connectivity(deviceId);
  assert.equal(answer.json.code, 0, answer.text);
  return (answer.json.data as unknown as { signal: SignalRecord }).signal;
}

function nowS(): number {
  return Math.floor(server.clock.wallMs() / 1000);
}

/** Resolves when the server has answered the heartbeat. */
async function heartbeat(controller: SignalController): Promise<void> {
  const acks = controller.heartbeatAcks;
  controller.heartbeat();
  while (controller.heartbeatAcks === acks) await nextTurn();
}

async function rawLogin(deviceId: string, localAddress?: string): Promise<SignalPeer> {
  const peer = new SignalPeer(await RawPeer.connect(server.ports.signal, localAddress));
  await peer.upgrade();
  await peer.logIn(deviceId, `secret of ${deviceId}`);
  return peer;
}

let made = 0;
/** A unique body: an equal one in the same second is a repeat. */
function send(deviceId: string, from = server): ReturnType<DrivenServer['api']['call']> {
  const body = { device_id: deviceId, name: 'msga_join_voip_room', payload: { number: (made += 1) } };
  return from.api.call({ method: 'POST', path: '/v1/device/message', body: JSON.stringify(body) });
}

test('the record of a controller has the times of login, last heartbeat and end', async () => {
  const device = 'TESTDEVICE01';
  const never = { is_online: false, last_login_at: null, last_heartbeat_at: null, last_offline_at: null };
  assert.deepEqual(await signalOf(device), never);
  const cameAt = nowS();
  const controller = await server.controller(device);
  const online = { ...never, is_online: true, last_login_at: cameAt };
  assert.deepEqual(await signalOf(device), online, 'a login is no heartbeat');
  server.clock.advance(7000);
  await heartbeat(controller);
  assert.deepEqual(await signalOf(device), { ...online, last_heartbeat_at: cameAt + 7 });
  server.clock.advance(5000);
  controller.ping();
  while ((await signalOf(device)).last_heartbeat_at !== cameAt + 12) await nextTurn();
  server.clock.advance(3000);
  await controller.bye('asleep');
  assert.deepEqual(await signalOf(device), {
    is_online: false,
    last_login_at: cameAt,
    last_heartbeat_at: cameAt + 12,
    last_offline_at: cameAt + 15,
  });
});

const ends: { reason: string; code: number; leave: (controller: SignalController) => Promise<unknown> }[] = [
  { reason: 'reset', code: 1006, leave: (controller) => controller.terminate() },
  {
    reason: 'heartbeat_timeout',
    code: 4408,
    leave: (controller) => {
      server.clock.advance((3 * signalHeartbeatSeconds + 2) * 1000);
      return controller.closed;
    },
  },
];
for (const { reason, code, leave } of ends)
  test(`a session that ends by ${reason} is offline with that reason, once, in record and log`, async () => {
    const device = 'SLEEPING01';
    const reader = await EventReader.fromNow(server.api);
    const controller = await server.controller(device);
    await leave(controller);
    assert.equal((await controller.closed).code, code);
    const [online, offline] = await reader.next(2);
    assert.deepEqual([online?.type, online?.data['replaced']], ['device.signal.online', false]);
    assert.equal(offline?.type, 'device.signal.offline');
    assert.equal(offline.data['reason'], reason);
    assert.deepEqual(
      [offline.epoch, offline.data['session'], offline.data['node'], offline.seq],
      [online?.epoch, online?.data['session'], online?.data['node'], Number(online?.seq) + 1],
    );
    const record = await signalOf(device);
    const offlineAt = Math.floor(Date.parse(offline.at) / 1000);
    assert.deepEqual([record.is_online, record.last_offline_at], [false, offlineAt]);
    assert.ok(nowS() - offlineAt <= 2, 'noticed within two seconds');
    assert.deepEqual(await reader.rest(), []);
  });

test('a takeover is one login event: the device is never offline, the old connection reads 4409, its late end is ignored', async () => {
  const device = 'SLEEPING02';
  const reader = await EventReader.fromNow(server.api);
  const old = await rawLogin(device);
  const seen: boolean[] = [];
  const polls = { isOver: false };
  const polling = (async () => {
    while (!polls.isOver) seen.push((await signalOf(device)).is_online);
  })();
  server.clock.advance(4000);
  const young = await server.controller(device);
  assert.deepEqual(await old.readToEnd(), dismissal(4409, 'replaced'));
  old.socket.resetAndDestroy();
  await heartbeat(young);
  polls.isOver = true;
  await polling;
  assert.ok(seen.length > 0 && seen.every(Boolean), String(seen));
  const [first, second, ...more] = await reader.rest();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [first, second].map((event) => [event?.type, event?.data['replaced']]),
    [
      ['device.signal.online', false],
      ['device.signal.online', true],
    ],
  );
  assert.equal(second?.epoch, Number(first?.epoch) + 1);
  assert.equal(young.welcome.epoch, second.epoch);
  const record = await signalOf(device);
  assert.deepEqual([record.is_online, record.last_login_at, record.last_offline_at], [true, nowS(), null]);
  await young.close();
});

async function endsBoth(close: object, act: (device: string) => Promise<unknown>): Promise<void> {
  const device = 'TESTDEVICE01';
  const module = await server.module(device);
  const controller = await server.controller(device);
  const reader = await EventReader.fromNow(server.api);
  await act(device);
  assert.deepEqual(await controller.closed, close);
  await module.closed;
  const told = await reader.until(({ type }) => type === 'device.sleep.offline');
  const ends = told.filter(({ type }) => !type.startsWith('device.registry.'));
  assert.deepEqual(
    ends.map(({ type, data }) => [type, data['reason']]),
    [
      ['device.signal.offline', 'kicked'],
      ['device.sleep.offline', 'kicked'],
    ],
  );
}

test('a kick ends both sessions of a device with 4410, and it may log in again at once', async () => {
  await endsBoth({ code: 4410, reason: 'kicked' }, async (device) => {
    const answer = await opsOf(server).change('/v1/device/kick', { device_id: device });
    assert.deepEqual(answer, { kicked: true, sessions: ['signal', 'sleep'] });
  });
  const back = await server.controller('TESTDEVICE01');
  assert.equal((await signalOf('TESTDEVICE01')).is_online, true);
  await back.close();
});

/** JSON text of this many bytes, with characters beyond ASCII. */
function mediaOf(bytes: number): { readonly codecs: string[]; readonly note: string } {
  const media = { codecs: ['h264', 'mjpeg'], note: 'é\u2028"\\💡\u0000' };
  const missing = bytes - Buffer.byteLength(JSON.stringify(media));
  return { ...media, note: media.note + 'x'.repeat(missing) };
}

test('capabilities of the maximum size are unchanged in the online event', async () => {
  const reader = await EventReader.fromNow(server.api);
  const media = mediaOf(signalMediaBytesMax);
  const controller = await server.controller('SLEEPING01', { media });
  const [online] = await reader.next(1);
  assert.deepEqual(online?.data['media'], media);
  await controller.close();
  const plain = await server.controller('SLEEPING01');
  const [, again] = await reader.next(2);
  assert.equal('media' in (again?.data ?? {}), false, 'what was reported once is not told again');
  await plain.close();
  await assert.rejects(server.controller('SLEEPING01', { media: mediaOf(signalMediaBytesMax + 1) }), {
    code: 4400,
  });
});

test('a controller receives the address of the sleep port, or the configured ones in order', async () => {
  const controller = await server.controller('SLEEPING01');
  assert.deepEqual(controller.welcome.sleep.servers, [`127.0.0.1:${server.ports.sleep}`]);
  assert.equal(controller.welcome.heartbeat_s, signalHeartbeatSeconds);
  assert.equal(controller.welcome.server_time, nowS());
  await controller.close();
  const servers = ['sleep-2.example:8081', '[2001:db8::1]:81', 'sleep-1.example:8081'];
  const advertising = await startDrivenServer({ overrides: [`sleep.advertise=${servers.join(',')}`] });
  const told = await advertising.controller('SLEEPING01');
  assert.deepEqual(told.welcome.sleep.servers, servers);
  await advertising.stop();
});

async function sessionsAre(count: number): Promise<void> {
  while (metric(await metricsOf(server), 'reveille_signal_sessions') !== count) await nextTurn();
}

/** Resolves when the device is offline in record and log. */
async function isOffline(device: string): Promise<void> {
  while ((await signalOf(device)).is_online) await nextTurn();
}

for (const [name, leave] of [
  ['breaks', (peer: SignalPeer) => peer.socket.resetAndDestroy()],
  ['is taken over', async () => void (await rawLoginUnread('SLEEPING02'))],
] as const)
  test(`a controller that ${name} before its login is committed has events in the log, and receives nothing`, async () => {
    const reader = await EventReader.fromNow(server.api);
    const held = await HeldStore.block(server.dataDirectory);
    const peer = await rawLoginUnread('SLEEPING02');
    await sessionsAre(1);
    const left = leave(peer);
    const isTakeover = name === 'is taken over';
    if (!isTakeover) await sessionsAre(0);
    else await peer.raw.gone;
    await held.release();
    await left;
    const [online, next] = await reader.next(2);
    assert.equal(online?.type, 'device.signal.online');
    assert.equal(next?.type, isTakeover ? 'device.signal.online' : 'device.signal.offline');
    assert.equal(next.epoch, Number(online.epoch) + (isTakeover ? 1 : 0));
    assert.ok(!(await peer.readToEnd()).texts.some((text) => text.includes('welcome')));
    if (isTakeover) await opsOf(server).change('/v1/device/kick', { device_id: 'SLEEPING02' });
    await isOffline('SLEEPING02');
    peer.socket.destroy();
  });

test('a login during the commit of an offline event: both events are in order, and the device is online', async () => {
  const reader = await EventReader.fromNow(server.api);
  const old = await server.controller('TESTDEVICE01');
  await reader.next(1);
  const held = await HeldStore.block(server.dataDirectory);
  await old.terminate();
  await sessionsAre(0);
  const coming = server.controller('TESTDEVICE01');
  await sessionsAre(1);
  assert.deepEqual(await reader.rest(), [], 'nobody is told what is not committed');
  const online = signalOf('TESTDEVICE01');
  await held.release();
  const young = await coming;
  assert.equal((await online).is_online, true);
  const told = await reader.next(2);
  assert.deepEqual(
    told.map(({ type, epoch, data }) => [type, epoch, data['replaced'] ?? data['reason']]),
    [
      ['device.signal.offline', old.welcome.epoch, 'reset'],
      ['device.signal.online', old.welcome.epoch + 1, false],
    ],
  );
  assert.equal(young.welcome.epoch, old.welcome.epoch + 1);
  await young.close();
  await isOffline('TESTDEVICE01');
});

/** Has sent its login, and reads nothing afterwards. */
async function rawLoginUnread(deviceId: string): Promise<SignalPeer> {
  const peer = new SignalPeer(await RawPeer.connect(server.ports.signal));
  await peer.upgrade();
  peer.send(loginText(await peer.readSessionKey(), deviceId, `secret of ${deviceId}`));
  return peer;
}

/** Ids of the maximum length, with characters of one to four bytes, and with characters special to shells, lines and paths. */
const strangeIds = [
  '💡'.repeat(63) + 'abc',
  'é'.repeat(127) + 'x',
  '\u0000',
  'a\nb\r\n{"c":1}',
  '\ufeffwith a mark',
  '../../etc/passwd',
  '__proto__',
  '%2e%2b +&=?#',
  'e\u0301',
  '\u00e9',
];
for (const id of strangeIds)
  test(`a device named ${JSON.stringify(id.slice(0, 20))} is served on every path`, async () => {
    assert.ok(Buffer.byteLength(id) <= deviceIdBytesMax);
    const ops = opsOf(server);
    const secret = `secret of ${id}`;
    await ops.change('/v1/device/add', { device_id: id, product_id: 'doorbell', secret });
    const reader = await EventReader.fromNow(server.api);
    const [module, controller] = [await server.module(id), await server.controller(id)];
    const answer = send(id);
    controller.acknowledge((await controller.nextMessage()).id);
    assert.equal((await answer).json.data?.['device_id'], id);
    const woken = await server.api.wake({ device_id: id });
    assert.deepEqual([woken.status, woken.json.data?.['device_id']], [202, id]);
    await module.nextPacket();
    const outcome = await server.api.call({
      path: '/v1/device/wakeup-request',
      query: `request_id=${String(woken.json['request_id'])}&wait=1`,
    });
    assert.deepEqual([outcome.json.data?.['device_id'], outcome.json.data?.['status']], [id, 'completed']);
    const connectivity = await server.api.connectivity(id);
    assert.equal(connectivity.json.data?.['device_id'], id);
    const status = await ops.ask<{ device: { device_id: string }; transitions: { device_id: string }[] }>(
      '/v1/device/status',
      new URLSearchParams({ device_id: id }),
    );
    assert.equal(status.device.device_id, id);
    const told = await reader.next(4);
    for (const event of [...told, ...status.transitions]) assert.equal(event.device_id, id);
    assert.deepEqual(await ops.change('/v1/device/kick', { device_id: id }), {
      kicked: true,
      sessions: ['signal', 'sleep'],
    });
    await Promise.all([module.closed, controller.closed]);
    await clearDevices(server, [id]);
  });

test('a login that awaits its commit during a drain is welcomed and closed with the others', async () => {
  const overrides = ['signal.drain_per_second=1'];
  const stopping = await startDrivenServer({ overrides });
  const others = [await stopping.controller('TESTDEVICE01'), await stopping.controller('SLEEPING01')];
  const held = await HeldStore.block(stopping.dataDirectory);
  const late = SignalController.connect({
    url: `ws://127.0.0.1:${stopping.ports.signal}`,
    deviceId: 'SLEEPING02',
    secret: 'secret of SLEEPING02',
  });
  while (metric(await metricsOf(stopping), 'reveille_signal_sessions') !== 3) await nextTurn();
  const stopped = stopping.stop();
  await held.release();
  const { welcome, closed } = await late;
  assert.deepEqual(welcome.sleep.servers, [`127.0.0.1:${stopping.ports.sleep}`]);
  stopping.clock.advance(3000);
  for (const each of [closed, ...others.map((other) => other.closed)])
    assert.deepEqual(await each, { code: 4503, reason: 'draining' });
  await stopped;
});

test('sessions left at the deadline of a drain are ended with their events', async () => {
  const overrides = ['signal.drain_deadline_ms=0', 'sleep.drain_deadline_ms=0'];
  const first = await startDrivenServer({ overrides });
  const controller = await first.controller('SLEEPING01');
  const module = await first.module('SLEEPING01');
  await first.halt();
  assert.deepEqual(await controller.closed, { code: 4503, reason: 'draining' });
  await module.closed;
  const { clock, dataDirectory } = first;
  const second = await startDrivenServer({ clock, dataDirectory });
  const told = await readLog(second.api);
  assert.deepEqual(
    told.map(({ type, data }) => [type, data['reason']]),
    [
      ['device.signal.online', undefined],
      ['device.sleep.login', undefined],
      ['device.signal.offline', 'drain'],
      ['device.sleep.offline', 'drain'],
    ],
  );
  await second.stop();
});

test('concurrent logins of one device: exactly one is online, and every epoch is used once', async () => {
  const server = await startDrivenServer({ overrides: ['limits.device_logins_per_second=1000'] });
  const device = 'TESTDEVICE01';
  const isOnline = async (): Promise<boolean> => (await signalOf(device, server)).is_online;
  const reader = await EventReader.fromNow(server.api);
  const first = await server.controller(device);
  await reader.next(1);
  const count = 40;
  const polls = { isOver: false };
  const seen: boolean[] = [];
  const polling = (async () => {
    while (!polls.isOver) seen.push(await isOnline());
  })();
  const logins = Array.from({ length: count }, () => logInOrBeReplaced(server.ports.signal, device));
  const outcomes = await Promise.all(logins);
  const events = await reader.next(count + 1);
  const told = events.filter(({ type }) => type !== 'device.conflict');
  assert.equal(told.length, count, 'one conflict is reported');
  polls.isOver = true;
  await polling;
  assert.ok(seen.length > 0 && seen.every(Boolean), 'a poll said offline');
  assert.deepEqual(
    told.map(({ type, epoch, data }) => [type, epoch, data['replaced']]),
    told.map((_, i) => ['device.signal.online', first.welcome.epoch + 1 + i, true]),
  );
  assert.deepEqual(await first.closed, { code: 4409, reason: 'replaced' });
  const last = outcomes.filter((peer) => peer.epoch === first.welcome.epoch + count);
  assert.equal(last.length, 1);
  assert.equal(await isOnline(), true);
  last[0]?.socket.destroy();
  const [offline] = await reader.next(1);
  assert.equal(offline?.epoch, first.welcome.epoch + count);
  assert.equal(await isOnline(), false);
  for (const { socket } of outcomes) socket.destroy();
  assert.deepEqual(await reader.rest(), []);
  await server.stop();
});

/** `epoch` 0: it was replaced before it was welcomed. */
async function logInOrBeReplaced(
  port: number,
  device: string,
): Promise<{ readonly epoch: number; readonly socket: RawPeer['socket'] }> {
  const peer = new SignalPeer(await RawPeer.connect(port));
  await peer.upgrade();
  const { socket } = peer;
  const said = JSON.parse(await peer.logIn(device, `secret of ${device}`)) as { type: string; epoch: number };
  return { epoch: said.type === 'welcome' ? said.epoch : 0, socket };
}
