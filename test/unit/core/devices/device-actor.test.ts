import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ActorMessage, DeviceActor } from '../../../../src/core/devices/device-actor.ts';
import { DeviceDirectory } from '../../../../src/core/devices/device-directory.ts';
import { neverConnected, type ConnectionTimes } from '../../../../src/model/connectivity.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { mailboxMessagesMax } from '../../../../src/model/limits.ts';
import type { WakeMode } from '../../../../src/model/sleep.ts';
import type { SlotClaimed } from '../../../../src/core/ports/session-locator.ts';
import { FakeConnection, FakeRecords, FakeSignalConnection, testDevice } from '../../../support/fakes.ts';

interface Opening {
  readonly atMs?: number;
  readonly heartbeatAt?: number;
  readonly wakeMode?: WakeMode;
}

function sleepLogin(connection: FakeConnection, opening: Opening = {}): ActorMessage {
  const { atMs = 100_000, heartbeatAt = 0, wakeMode = 'custom' } = opening;
  const event = { kind: 'login', sessionId: `s${atMs}` as SessionId, atMs, heartbeatAt } as const;
  return { to: 'sleep', event, connection, wakeMode, secretMark: 0 };
}

function signalLogin(connection: FakeSignalConnection, { atMs = 100_000, heartbeatAt = 0 }: Opening = {}) {
  const event = { kind: 'login', sessionId: `s${atMs}` as SessionId, atMs, heartbeatAt } as const;
  return { to: 'signal', event, connection, media: null, secretMark: 0 } satisfies ActorMessage;
}

/** `loginAtMs`: of the session that ends. */
function end(to: 'sleep' | 'signal', loginAtMs = 100_000): ActorMessage {
  const session = `s${loginAtMs}` as SessionId;
  const event = { kind: 'ended', session, reason: 'reset', atMs: 200_000, heartbeatAt: 0 } as const;
  return { to, event };
}

function heartbeatOf(to: 'sleep' | 'signal', heartbeatAt: number): ActorMessage {
  const event = { kind: 'heartbeat', heartbeatAt } as const;
  return { to, event };
}

/** A message that calls `inside` while it is handled: a login that replaces the previous one. */
function loginCalling(inside: () => void, actor: DeviceActor, atMs = 150_000): boolean {
  const connection = actor.connection('sleep');
  assert.ok(connection instanceof FakeConnection);
  connection.close = inside;
  return actor.post(sleepLogin(new FakeConnection(), { atMs }));
}

class Scene {
  readonly sleepRecords = new FakeRecords();
  readonly signalRecords = new FakeRecords();
  readonly directory = new DeviceDirectory({
    sleepRecords: this.sleepRecords,
    signalRecords: this.signalRecords,
    node: 'node-1',
  });

  claim(): DeviceActor {
    return this.directory.claim(testDevice);
  }
}

test('a new session is written down before the connection that it replaces is closed', () => {
  const { directory, sleepRecords } = new Scene();
  const actor = directory.claim(testDevice);
  const order: string[] = [];
  const old = new FakeConnection();
  old.close = (reason) => order.push(`${reason} after ${sleepRecords.events.length} events`);
  actor.post(sleepLogin(old));
  actor.post(sleepLogin(new FakeConnection(), { atMs: 200_000 }));
  assert.deepEqual(order, ['replaced after 2 events']);
});

test('a login replaces nothing when the open session of its record has ended as lost meanwhile', () => {
  const { directory, sleepRecords } = new Scene();
  const open = { ...neverConnected, epoch: 1, openSession: 'lost' as SessionId };
  sleepRecords.records.set(testDevice, open);
  const actor = directory.claim(testDevice);
  actor.post(signalLogin(new FakeSignalConnection()));
  actor.times('sleep');
  sleepRecords.records.set(testDevice, { ...open, openSession: null });
  actor.post(sleepLogin(new FakeConnection()));
  assert.equal(sleepRecords.events[0]?.type, 'device.sleep.login');
  assert.deepEqual(sleepRecords.events[0].data, { session: 's100000', node: 'node-1', replaced: false });
});

const wakes = [
  { mode: 'fixed', carriesCustomData: false, written: true },
  { mode: 'fixed', carriesCustomData: true, written: false },
  { mode: 'custom', carriesCustomData: false, written: true },
  { mode: 'custom', carriesCustomData: true, written: true },
  { mode: 'none', carriesCustomData: false, written: false },
  { mode: 'none', carriesCustomData: true, written: false },
] as const;
for (const { mode, carriesCustomData, written } of wakes)
  test(`a ${mode} module asked ${carriesCustomData ? 'with' : 'without'} custom data: ${written ? 'its connection' : 40902}`, () => {
    const actor = new Scene().claim();
    const connection = new FakeConnection();
    actor.post(sleepLogin(connection, { wakeMode: mode }));
    assert.equal(actor.findWakeable(carriesCustomData), written ? connection : 40902);
  });

test('a replacing login sets its own wake mode', () => {
  const actor = new Scene().claim();
  actor.post(sleepLogin(new FakeConnection(), { wakeMode: 'custom' }));
  actor.post(sleepLogin(new FakeConnection(), { wakeMode: 'none', atMs: 200_000 }));
  assert.equal(actor.findWakeable(false), 40902);
});

test('a device without a sleep session refuses a wake with 40412, online or not', () => {
  const { directory } = new Scene();
  const actor = directory.claim(testDevice);
  actor.post(signalLogin(new FakeSignalConnection()));
  assert.equal(actor.findWakeable(false), 40412);
  actor.post(end('signal'));
  assert.equal(actor.findWakeable(false), 40412);
  assert.equal(directory.size, 0);
});

test('a message posted while another is handled waits its turn; a full mailbox refuses', () => {
  const { directory, sleepRecords } = new Scene();
  const actor = directory.claim(testDevice);
  actor.post(sleepLogin(new FakeConnection()));
  const taken: boolean[] = [];
  loginCalling(() => {
    for (let i = 0; i <= mailboxMessagesMax; i++) taken.push(actor.post(heartbeatOf('sleep', 500 + i)));
    assert.equal(sleepRecords.writes.length, 2, 'none of them is handled yet');
  }, actor);
  assert.equal(sleepRecords.writes.length, 2 + mailboxMessagesMax);
  assert.equal(actor.times('sleep').lastHeartbeatAt, 499 + mailboxMessagesMax, 'in their order');
  assert.deepEqual(taken.slice(-2), [true, false]);
});

test('a login that waits in the mailbox behind the last end keeps the actor', () => {
  const { directory } = new Scene();
  const actor = directory.claim(testDevice);
  actor.post(sleepLogin(new FakeConnection()));
  loginCalling(() => {
    actor.post(end('sleep', 150_000));
    actor.post(signalLogin(new FakeSignalConnection()));
  }, actor);
  assert.equal(directory.find(testDevice), actor);
  assert.deepEqual([actor.epoch('sleep'), actor.epoch('signal')], [0, 1]);
});

test('a message to a released actor does not change its successor', () => {
  const { directory, sleepRecords } = new Scene();
  const gone = directory.claim(testDevice);
  gone.post(sleepLogin(new FakeConnection()));
  gone.post(end('sleep'));
  const successor = directory.claim(testDevice);
  successor.post(sleepLogin(new FakeConnection(), { atMs: 300_000 }));
  gone.post(end('sleep'));
  gone.post(heartbeatOf('sleep', 5));
  assert.equal(directory.find(testDevice), successor);
  assert.equal(sleepRecords.records.get(testDevice)?.epoch, 2);
  assert.equal(sleepRecords.events.length, 3);
});

test('the actor of a sleeping device is released although its signal record cannot be read', () => {
  const { directory, signalRecords } = new Scene();
  const actor = directory.claim(testDevice);
  actor.post(sleepLogin(new FakeConnection()));
  signalRecords.failure = new Error('the store cannot be read');
  actor.post(end('signal'));
  actor.post({ to: 'signal', event: { kind: 'disconnect', reason: 'kicked', atMs: 1, heartbeatAt: 0 } });
  actor.post(heartbeatOf('signal', 5));
  assert.equal(actor.epoch('signal'), 0);
  assert.equal(actor.epoch('sleep'), 1);
});

const noTimes: ConnectionTimes = { lastLoginAt: null, lastHeartbeatAt: null, lastOfflineAt: null };

for (const kind of ['sleep', 'signal'] as const) {
  const loginOf = (atMs: number): ActorMessage =>
    kind === 'sleep'
      ? sleepLogin(new FakeConnection(), { atMs })
      : signalLogin(new FakeSignalConnection(), { atMs });
  const told = (actor: DeviceActor): number => actor.epoch(kind);
  const claimed = (session: string, epoch: number, times = noTimes): SlotClaimed => ({
    connection: kind,
    deviceId: testDevice,
    session: session as SessionId,
    epoch,
    times,
    superseded: [],
  });

  test(`${kind}: the session has the shared epoch once it is claimed`, () => {
    const { directory, sleepRecords, signalRecords } = new Scene();
    const actor = directory.claim(testDevice);
    assert.equal(told(actor), 0);
    actor.post(loginOf(1000));
    assert.equal(told(actor), 1);
    actor.adopt(claimed('s1000', 7));
    assert.equal(told(actor), 7);
    actor.post(end(kind, 1000));
    assert.equal(told(actor), 0);
    const { events } = kind === 'sleep' ? sleepRecords : signalRecords;
    assert.deepEqual(
      events.map(({ epoch }) => epoch),
      [1, 7],
    );
  });

  test(`${kind}: a login after it has the next epoch until it has another, and an older slot is not its`, () => {
    const actor = new Scene().claim();
    actor.post(loginOf(1000));
    actor.adopt(claimed('s1000', 7));
    actor.post(loginOf(2000));
    actor.adopt(claimed('s1000', 3));
    assert.equal(told(actor), 8);
    actor.adopt(claimed('s2000', 9));
    assert.equal(told(actor), 9);
  });

  test(`${kind}: the times that all members observed are adopted`, () => {
    const actor = new Scene().claim();
    actor.post(loginOf(100_000));
    const times = { lastLoginAt: 101, lastHeartbeatAt: 95, lastOfflineAt: 97 };
    actor.adopt(claimed('s100000', 7, times));
    assert.deepEqual(actor.times(kind), times);
  });

  test(`${kind}: a superseded session is released with its actor, and the next login finds no open session`, () => {
    const { directory, sleepRecords, signalRecords } = new Scene();
    directory.claim(testDevice).post(loginOf(1000));
    directory.supersede(kind, testDevice, 's9' as SessionId);
    assert.equal(directory.size, 1, 'another session of the device');
    directory.supersede(kind, testDevice, 's1000' as SessionId);
    assert.equal(directory.size, 0);
    directory.supersede(kind, testDevice, 's1000' as SessionId);
    const { records, events } = kind === 'sleep' ? sleepRecords : signalRecords;
    assert.equal(events.length, 1);
    assert.deepEqual(
      [records.get(testDevice)?.openSession, records.get(testDevice)?.lastOfflineAt],
      [null, null],
    );
    directory.claim(testDevice).post(loginOf(2000));
    assert.deepEqual(events.at(-1)?.data, { session: 's2000', node: 'node-1', replaced: false });
  });
}
