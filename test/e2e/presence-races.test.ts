/** The races that make presence wrong elsewhere, each on real sockets at the whole server. Source: decisions.md, Connectivity. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { conflictPeriodMs } from '../../src/core/devices/session-conflicts.ts';
import { heartbeatsMissedMax, signalHeartbeatSeconds, wakeupToOnlineMsMax } from '../../src/model/limits.ts';
import { encodeLoginLine } from '../../src/protocol/sleep/login-line.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import {
  clearDevices,
  metric,
  metricsOf,
  startDrivenServer,
  type DrivenServer,
} from '../support/driven-server.ts';
import { checkLog, type ToldEvent } from '../support/event-log-check.ts';
import { nextTurn } from '../support/event-loop.ts';
import { EventReader } from '../support/event-reader.ts';
import { HeldStore } from '../support/held-store.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { dismissal, encodeFrame, loginText, opcodes, SignalPeer } from '../support/signal-peer.ts';

let server: DrivenServer;
before(async () => {
  server = await startDrivenServer({ overrides: ['limits.device_logins_per_second=1000'] });
});
afterEach(async () => {
  await clearDevices(server, [device, sleepingModule, 'SLEEPING01']);
  // The next test's replaced sessions are no conflict with these.
  server.clock.advance(conflictPeriodMs);
});
after(async () => {
  checkLog(await new EventReader(server.api).rest());
  await server.stop();
  assert.deepEqual(
    server.log.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

const device = 'TESTDEVICE01';
const secret = `secret of ${device}`;
const sleepingModule = 'SLEEPING02';
const silenceMs = heartbeatsMissedMax * signalHeartbeatSeconds * 1000;

interface Connectivity {
  readonly signal: {
    readonly is_online: boolean;
    readonly last_login_at: number | null;
    readonly last_heartbeat_at: number | null;
    readonly last_offline_at: number | null;
  };
  readonly sleep: { readonly last_login_at: number | null; readonly last_offline_at: number | null };
}

async function connectivity(deviceId = device): Promise<Connectivity> {
  const answer = await server.api.connectivity(deviceId);
  assert.equal(answer.json.code, 0, answer.text);
  return answer.json.data as unknown as Connectivity;
}

async function isOnline(): Promise<boolean> {
  return (await connectivity()).signal.is_online;
}

function nowS(): number {
  return Math.floor(server.clock.wallMs() / 1000);
}

/** To where the listener looks for deadlines, so that one that is due now is noticed now. */
function advanceToTick(): void {
  const tickMs = 500;
  server.clock.advance(tickMs - (server.clock.monotonicMs() % tickMs));
}

async function open(localAddress?: string): Promise<SignalPeer> {
  const peer = new SignalPeer(await RawPeer.connect(server.ports.signal, localAddress));
  await peer.upgrade();
  return peer;
}

async function logIn(localAddress?: string): Promise<SignalPeer> {
  const peer = await open(localAddress);
  await peer.logIn(device, secret);
  return peer;
}

/** Has said what it had to say to the server, and the server has handled it. */
async function heard(controller: SignalController): Promise<void> {
  const acks = controller.heartbeatAcks;
  controller.heartbeat();
  while (controller.heartbeatAcks === acks) await nextTurn();
}

/** Ends the session, and takes its end from the log. */
async function leave(controller: SignalController, reader: EventReader): Promise<ToldEvent> {
  await controller.close();
  const [offline] = await reader.take(1);
  assert.equal(offline?.type, 'device.signal.offline');
  assert.equal(await isOnline(), false);
  return offline;
}

function shortly({ type, epoch, data }: ToldEvent): unknown[] {
  return [type, epoch, data['replaced'] ?? data['reason']];
}

const closeFrame = encodeFrame(Buffer.from([1000 >> 8, 1000 & 0xff]), { opcode: opcodes.close });
const lateEnds: [string, (old: SignalPeer) => unknown][] = [
  ['a FIN', (old) => old.socket.end()],
  ['an RST', (old) => old.socket.resetAndDestroy()],
  ['a close frame', (old) => old.socket.end(closeFrame)],
  [
    'a bye and a heartbeat',
    (old) => old.send('{"type":"heartbeat"}') ?? old.send('{"type":"bye","reason":"late"}'),
  ],
  ['garbage', (old) => old.raw.send(Buffer.alloc(70_000, 0xff))],
];
for (const [name, end] of lateEnds)
  test(`late close of a replaced socket: ${name} after the takeover changes nothing`, async () => {
    const reader = await EventReader.fromNow(server.api);
    const old = await logIn();
    const young = await server.controller(device);
    assert.equal((await old.readToEnd()).close, '4409 replaced');
    const [first, second] = await reader.take(2);
    server.clock.advance(1000);
    end(old);
    old.socket.destroy();
    await heard(young);
    assert.equal(await isOnline(), true);
    const { epoch } = await leave(young, reader);
    assert.deepEqual([first?.epoch, second?.epoch, epoch], [epoch === null ? 0 : epoch - 1, epoch, epoch]);
    assert.deepEqual(await reader.rest(), [], 'the old connection has no end of its own');
  });

test('late close of a replaced sleep socket: its end is nobody’s, and the wake goes to the new one', async () => {
  const reader = await EventReader.fromNow(server.api);
  const old = await RawPeer.connect(server.ports.sleep);
  const young = await sleepTakeover(old);
  old.socket.resetAndDestroy();
  const woken = await server.api.wake({ device_id: sleepingModule });
  assert.equal(woken.status, 202, woken.text);
  await young.nextPacket();
  assert.equal((await connectivity(sleepingModule)).sleep.last_offline_at, null);
  assert.equal(await statusOf(woken), 'accepted');
  const told = await reader.take(3);
  assert.deepEqual(told.map(shortly), [
    ['device.sleep.login', 1, false],
    ['device.sleep.login', 2, true],
    ['device.wakeup.accepted', 2, undefined],
  ]);
  await young.close();
  const offline = await reader.take(1);
  server.clock.advance(wakeupToOnlineMsMax + 1000);
  assert.equal(await statusOf(woken), 'expired');
  assert.deepEqual([...offline, ...(await reader.take(1))].map(shortly), [
    ['device.sleep.offline', 2, 'peer_closed'],
    ['device.wakeup.expired', 2, undefined],
  ]);
});

/** Of a wakeup; its events are committed then, which time alone would do later. */
async function statusOf({ json }: ApiAnswer): Promise<unknown> {
  const query = `request_id=${String(json['request_id'])}`;
  const answer = await server.api.call({ path: '/v1/device/wakeup-request', query });
  return answer.json.data?.['status'];
}

async function sleepTakeover(old: RawPeer): ReturnType<DrivenServer['module']> {
  const sessionKey = await old.read(32);
  const credentials = {
    deviceId: sleepingModule,
    secret: `secret of ${sleepingModule}`,
    wakeMode: 'custom',
    heartbeatSeconds: 50,
    wantsReply: true,
  } as const;
  old.send(encodeLoginLine(credentials, sessionKey));
  assert.equal(await old.read(3), 'OK\n');
  const young = await server.module(sleepingModule);
  await old.gone;
  return young;
}

test('replaced and timed out in the same tick: the takeover comes first, and the deadline finds nobody', async () => {
  const reader = await EventReader.fromNow(server.api);
  advanceToTick();
  const old = await server.controller(device);
  server.clock.advance(silenceMs - 1);
  const young = await server.controller(device);
  server.clock.advance(1);
  assert.deepEqual(await old.closed, { code: 4409, reason: 'replaced' });
  await heard(young);
  assert.equal(await isOnline(), true);
  await reader.take(2);
  assert.equal((await leave(young, reader)).epoch, young.welcome.epoch);
});

test('replaced and timed out in the same tick: the deadline comes first, and the login opens anew', async () => {
  const reader = await EventReader.fromNow(server.api);
  advanceToTick();
  const old = await server.controller(device);
  server.clock.advance(silenceMs - 1000);
  const peer = await open();
  const login = loginText(await peer.readSessionKey(), device, secret);
  // Its login is on the way when the deadline passes; both stamps are of one millisecond.
  peer.send(login);
  server.clock.advance(1000);
  assert.deepEqual(await old.closed, { code: 4408, reason: 'heartbeat_timeout' });
  assert.match(await peer.readText(), /"type":"welcome"/);
  assert.equal(await isOnline(), true);
  const told = await reader.take(3);
  const { epoch } = old.welcome;
  assert.deepEqual(told.map(shortly), [
    ['device.signal.online', epoch, false],
    ['device.signal.offline', epoch, 'heartbeat_timeout'],
    ['device.signal.online', epoch + 1, false],
  ]);
  assert.equal(told[1]?.at, told[2]?.at);
  peer.socket.destroy();
  await reader.take(1);
});

test('login while the offline event is being written: both are told, in their order, and the device is online', async () => {
  const reader = await EventReader.fromNow(server.api);
  const old = await server.controller(device);
  await reader.take(1);
  const held = await HeldStore.hold(server.dataDirectory);
  await old.terminate();
  while (metric(await metricsOf(server), 'reveille_signal_sessions') !== 0) await nextTurn();
  const coming = server.controller(device);
  while (metric(await metricsOf(server), 'reveille_signal_sessions') !== 1) await nextTurn();
  assert.deepEqual(await reader.rest(), [], 'nobody is told what is not committed');
  const online = isOnline();
  await held.release();
  const young = await coming;
  assert.equal(await online, true);
  const told = await reader.take(2);
  assert.deepEqual(told.map(shortly), [
    ['device.signal.offline', old.welcome.epoch, 'reset'],
    ['device.signal.online', old.welcome.epoch + 1, false],
  ]);
  assert.equal(young.welcome.epoch, old.welcome.epoch + 1);
  await leave(young, reader);
});

test('takeover while the online event is being written: nobody is told twice, and the older one gets no welcome', async () => {
  const reader = await EventReader.fromNow(server.api);
  const held = await HeldStore.hold(server.dataDirectory);
  const old = await open();
  old.send(loginText(await old.readSessionKey(), device, secret));
  while (metric(await metricsOf(server), 'reveille_signal_sessions') !== 1) await nextTurn();
  const coming = server.controller(device);
  assert.deepEqual(await old.readToEnd(), dismissal(4409, 'replaced'));
  await held.release();
  const young = await coming;
  const told = await reader.take(2);
  const { epoch } = young.welcome;
  assert.deepEqual(told.map(shortly), [
    ['device.signal.online', epoch - 1, false],
    ['device.signal.online', epoch, true],
  ]);
  old.socket.destroy();
  await leave(young, reader);
});

test('reconnect from another address: the new one is online at once, and the old one’s silence ends nothing', async () => {
  const reader = await EventReader.fromNow(server.api);
  const old = await logIn('127.0.0.1');
  const young = await server.controller(device, { localAddress: '127.0.0.2' });
  await reader.take(2);
  for (let heartbeats = 0; heartbeats < 4; heartbeats++) {
    server.clock.advance(signalHeartbeatSeconds * 1000);
    await heard(young);
    assert.equal(await isOnline(), true);
  }
  old.socket.resetAndDestroy();
  await heard(young);
  assert.equal(await isOnline(), true);
  await leave(young, reader);
});

test('equal timestamps: what happens in one millisecond is told in its order, and the last word counts', async () => {
  const reader = await EventReader.fromNow(server.api);
  const rounds = 4;
  const expected: unknown[] = [];
  let epoch = 0;
  for (let i = 0; i < rounds; i++) {
    const old = await server.controller(device);
    const young = await server.controller(device);
    epoch = young.welcome.epoch;
    await old.closed;
    await young.close();
    expected.push(['device.signal.online', epoch - 1, false], ['device.signal.online', epoch, true]);
    expected.push(['device.signal.offline', epoch, 'peer_closed']);
  }
  const told = await reader.take(rounds * 3);
  assert.deepEqual(told.map(shortly), expected);
  assert.equal(new Set(told.map(({ at }) => at)).size, 1, 'all of them in one millisecond');
  const first = told[0]?.seq ?? 0;
  assert.deepEqual(
    told.map(({ seq }) => seq),
    told.map((_, i) => first + i),
  );
  const { signal } = await connectivity();
  assert.deepEqual([signal.is_online, signal.last_login_at, signal.last_offline_at], [false, nowS(), nowS()]);
});

test('the wall clock stepping back and forth ends no session and stops none from ending', async () => {
  const reader = await EventReader.fromNow(server.api);
  const [controller, module] = [await server.controller(device), await server.module('SLEEPING01')];
  const cameAt = nowS();
  const hourMs = 3_600_000;
  for (const stepMs of [-hourMs, 2 * hourMs, -2 * hourMs, hourMs]) {
    server.clock.stepWall(stepMs);
    server.clock.advance(10_000);
    await heard(controller);
    module.heartbeat();
    const { signal } = await connectivity();
    assert.deepEqual(
      [signal.is_online, signal.last_login_at, signal.last_heartbeat_at],
      [true, cameAt, nowS()],
    );
  }
  const opened = await reader.take(2);
  server.clock.stepWall(-hourMs);
  const young = await server.controller(device);
  const [takeover] = await reader.take(1);
  assert.deepEqual(shortly(takeover as ToldEvent), ['device.signal.online', young.welcome.epoch, true]);
  assert.ok(String(takeover?.at) < String(opened[0]?.at), 'its stamp is the wall’s');
  assert.ok(String(takeover?.id) > String(opened[1]?.id), 'its place is the log’s');
  server.clock.advance(silenceMs + 1000);
  assert.deepEqual(await young.closed, { code: 4408, reason: 'heartbeat_timeout' });
  server.clock.stepWall(hourMs);
  const [offline] = await reader.take(1);
  assert.deepEqual(shortly(offline as ToldEvent), [
    'device.signal.offline',
    young.welcome.epoch,
    'heartbeat_timeout',
  ]);
  const { signal } = await connectivity();
  assert.equal(signal.is_online, false);
  assert.ok(Number(signal.last_offline_at) < cameAt, 'the wall said so when it ended');
  await module.close();
  await reader.take(1);
});

const lastWords: [string, Buffer, string][] = [
  ['a close frame', closeFrame, 'peer_closed'],
  ['a bye', encodeFrame('{"type":"bye","reason":"asleep"}'), 'bye'],
  ['garbage', encodeFrame('{"type":'), 'malformed'],
];
for (const [name, frame, reason] of lastWords)
  test(`heartbeat and close in one read: the heartbeat counts, and ${name} behind it ends the session`, async () => {
    const reader = await EventReader.fromNow(server.api);
    const peer = await logIn();
    server.clock.advance(9000);
    peer.raw.send(
      Buffer.concat([encodeFrame('{"type":"heartbeat"}'), frame, encodeFrame('{"type":"heartbeat"}')]),
    );
    const [online, offline] = await reader.take(2);
    assert.deepEqual(shortly(offline as ToldEvent), ['device.signal.offline', online?.epoch, reason]);
    const { signal } = await connectivity();
    assert.deepEqual(
      [signal.is_online, signal.last_heartbeat_at, signal.last_offline_at],
      [false, nowS(), nowS()],
    );
    assert.equal(signal.last_login_at, nowS() - 9);
    peer.socket.destroy();
  });

test('login, heartbeat and close in one read: a session that was is told from its beginning to its end', async () => {
  const reader = await EventReader.fromNow(server.api);
  const peer = await open();
  server.clock.advance(5000);
  const login = encodeFrame(loginText(await peer.readSessionKey(), device, secret));
  peer.raw.send(Buffer.concat([login, encodeFrame('{"type":"heartbeat"}'), closeFrame]));
  const [online, offline] = await reader.take(2);
  assert.deepEqual(shortly(offline as ToldEvent), ['device.signal.offline', online?.epoch, 'peer_closed']);
  const { signal } = await connectivity();
  assert.deepEqual(
    [signal.is_online, signal.last_login_at, signal.last_heartbeat_at, signal.last_offline_at],
    [false, nowS(), nowS(), nowS()],
  );
  peer.socket.destroy();
});

test('many logins of one device at once: one of them is online, never none, and every epoch is given once', async () => {
  const reader = await EventReader.fromNow(server.api);
  const first = await server.controller(device);
  await reader.take(1);
  const count = 40;
  const polls = { isOver: false };
  const seen: boolean[] = [];
  const polling = (async () => {
    while (!polls.isOver) seen.push(await isOnline());
  })();
  const logins = Array.from({ length: count }, () => logInOrBeReplaced());
  const outcomes = await Promise.all(logins);
  const events = await reader.take(count + 1);
  const told = events.filter(({ type }) => type !== 'device.conflict');
  assert.equal(told.length, count, 'one conflict is reported');
  polls.isOver = true;
  await polling;
  assert.ok(seen.length > 0 && seen.every(Boolean), 'a poll said offline');
  assert.deepEqual(
    told.map(shortly),
    told.map((_, i) => ['device.signal.online', first.welcome.epoch + 1 + i, true]),
  );
  assert.deepEqual(await first.closed, { code: 4409, reason: 'replaced' });
  const last = outcomes.filter((peer) => peer.epoch === first.welcome.epoch + count);
  assert.equal(last.length, 1);
  assert.equal(await isOnline(), true);
  last[0]?.socket.destroy();
  const [offline] = await reader.take(1);
  assert.equal(offline?.epoch, first.welcome.epoch + count);
  assert.equal(await isOnline(), false);
  for (const { socket } of outcomes) socket.destroy();
  assert.deepEqual(await reader.rest(), []);
});

/** `epoch` 0: it was replaced before it was welcomed. */
async function logInOrBeReplaced(): Promise<{ readonly epoch: number; readonly socket: RawPeer['socket'] }> {
  const peer = await open();
  const { socket } = peer;
  const said = JSON.parse(await peer.logIn(device, secret)) as { type: string; epoch: number };
  return { epoch: said.type === 'welcome' ? said.epoch : 0, socket };
}
