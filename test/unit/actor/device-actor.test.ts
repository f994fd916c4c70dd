import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceMessage } from '../../../src/actor/device-actor.ts';
import { DeviceDirectory } from '../../../src/actor/device-directory.ts';
import { HeartbeatSaver } from '../../../src/actor/heartbeat-saver.ts';
import type { DeviceId, SessionId } from '../../../src/domain/ids.ts';
import { mailboxMessagesMax } from '../../../src/domain/limits.ts';
import { FakeConnection, FakeRecords, testDevice } from '../../support/fakes.ts';

function login(connection: FakeConnection, at = 100, heartbeatAt = 0): DeviceMessage {
  return {
    event: { kind: 'login', sessionId: `s${at}` as SessionId, wakeMode: 'custom', at, heartbeatAt },
    connection,
  };
}

function wake(reply: (answer: unknown) => void): DeviceMessage {
  return { event: { kind: 'wake', carriesCustomData: false }, reply };
}

test('an actor is made at the first session and gone with the last', () => {
  const directory = new DeviceDirectory(new FakeRecords());
  const actor = directory.claim(testDevice);
  actor.post(login(new FakeConnection()));
  assert.equal(directory.find(testDevice), actor);
  actor.post({ event: { kind: 'ended', epoch: 1, at: 200, heartbeatAt: 0 } });
  assert.equal(directory.find(testDevice), null);
  assert.equal(directory.size, 0);
});

test('epochs go on where the kept record left off', () => {
  const records = new FakeRecords();
  const directory = new DeviceDirectory(records);
  for (const epoch of [1, 2, 3]) {
    const actor = directory.claim(testDevice);
    actor.post(login(new FakeConnection(), epoch));
    assert.equal(actor.sleepEpoch, epoch);
    actor.post({ event: { kind: 'ended', epoch, at: epoch, heartbeatAt: 0 } });
  }
});

test('a takeover closes the old connection and keeps its last heartbeat', () => {
  const directory = new DeviceDirectory(new FakeRecords());
  const actor = directory.claim(testDevice);
  const [old, young] = [new FakeConnection(), new FakeConnection()];
  actor.post(login(old));
  old.lastHeartbeatAt = 150;
  actor.post(login(young, 200, actor.heartbeatAt));
  assert.deepEqual([old.closes, young.closes], [['replaced'], []]);
  assert.deepEqual(actor.sleepTimes(), { lastLoginAt: 200, lastHeartbeatAt: 150, lastOfflineAt: null });
  actor.post({ event: { kind: 'ended', epoch: 1, at: 300, heartbeatAt: 150 } });
  assert.equal(actor.sleepEpoch, 2, 'the late close of the old one changes nothing');
});

test('the live heartbeat is seen before it is saved', () => {
  const directory = new DeviceDirectory(new FakeRecords());
  const connection = new FakeConnection();
  const actor = directory.claim(testDevice);
  actor.post(login(connection));
  assert.equal(actor.sleepTimes().lastHeartbeatAt, null);
  connection.lastHeartbeatAt = 140;
  assert.equal(actor.sleepTimes().lastHeartbeatAt, 140);
});

test('a message posted while another is handled waits its turn; a full mailbox refuses', () => {
  const directory = new DeviceDirectory(new FakeRecords());
  const actor = directory.claim(testDevice);
  actor.post(login(new FakeConnection()));
  const order: string[] = [];
  const taken: boolean[] = [];
  actor.post(
    wake(() => {
      for (let i = 0; i <= mailboxMessagesMax; i++) taken.push(actor.post(wake(() => order.push('waited'))));
      order.push('first');
    }),
  );
  assert.equal(order[0], 'first');
  assert.equal(order.length, 1 + mailboxMessagesMax);
  assert.deepEqual(taken.slice(-2), [true, false]);
});

test('heartbeats of all devices are saved within 30 slices, each once per change', () => {
  const records = new FakeRecords();
  const directory = new DeviceDirectory(records);
  const connections = Array.from({ length: 100 }, (_, i) => {
    const connection = new FakeConnection();
    directory.claim(`D${i}` as DeviceId).post(login(connection));
    return connection;
  });
  for (const connection of connections) connection.lastHeartbeatAt = 500;
  const saver = new HeartbeatSaver(directory);
  records.writes.length = 0;
  for (let second = 0; second < 30; second++) saver.saveSlice();
  assert.equal(records.writes.length, 100);
  for (let second = 0; second < 30; second++) saver.saveSlice();
  assert.equal(records.writes.length, 100);
});

test('a slice grows with the house, so devices that come during a round are saved within the next one', () => {
  const records = new FakeRecords();
  const directory = new DeviceDirectory(records);
  const saver = new HeartbeatSaver(directory);
  const arrive = (from: number, count: number): void => {
    for (let i = from; i < from + count; i++) {
      const connection = new FakeConnection();
      directory.claim(`D${i}` as DeviceId).post(login(connection));
      connection.lastHeartbeatAt = 500;
    }
  };
  arrive(0, 1);
  saver.saveSlice();
  arrive(1, 3000);
  records.writes.length = 0;
  for (let second = 0; second < 32; second++) saver.saveSlice();
  assert.equal(records.writes.length, 3000);
});
