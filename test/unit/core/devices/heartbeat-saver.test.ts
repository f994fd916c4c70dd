import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeartbeatSaver } from '../../../../src/core/devices/heartbeat-saver.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { testDevice } from '../../../support/fakes.ts';
import { SessionScene, type Peer } from '../../../support/session-scene.ts';

function arrive(scene: SessionScene, from: number, count: number): Peer[] {
  return Array.from({ length: count }, (_, i) => {
    const { deviceId } = scene.registry.addDevice({ deviceId: `D${from + i}` as DeviceId });
    const peer = scene.sleep.login(deviceId);
    peer.heartbeat();
    return peer;
  });
}

test('heartbeats of all devices are saved within 30 slices, each once per change', () => {
  const scene = new SessionScene();
  const peers = arrive(scene, 0, 100);
  const saver = new HeartbeatSaver(scene.directory);
  const { writes } = scene.sleepRecords;
  writes.length = 0;
  for (let second = 0; second < 30; second++) saver.saveSlice();
  assert.equal(writes.length, 100);
  for (let second = 0; second < 30; second++) saver.saveSlice();
  assert.equal(writes.length, 100);
  scene.clock.advance(1000);
  for (const peer of peers) peer.heartbeat();
  for (let second = 0; second < 31; second++) saver.saveSlice();
  assert.equal(writes.length, 200);
});

test('a slice grows with the server, so devices that come during a round are saved within the next one', () => {
  const scene = new SessionScene();
  const saver = new HeartbeatSaver(scene.directory);
  arrive(scene, 0, 1);
  saver.saveSlice();
  arrive(scene, 1, 3000);
  scene.sleepRecords.writes.length = 0;
  for (let second = 0; second < 32; second++) saver.saveSlice();
  assert.equal(scene.sleepRecords.writes.length, 3000);
});

test('devices that connect and disconnect all the time keep no device from being saved within a minute', () => {
  const scene = new SessionScene();
  const saver = new HeartbeatSaver(scene.directory);
  const staying = arrive(scene, 0, 300);
  let passing: Peer[] = [];
  let came = 300;
  for (let second = 1; second <= 300; second++) {
    scene.clock.advance(1000);
    for (const peer of passing) peer.end('peer_closed');
    passing = arrive(scene, came, 20);
    came += passing.length;
    for (const peer of staying) peer.heartbeat();
    saver.saveSlice();
    if (second < 60) continue;
    const nowS = Math.floor(scene.clock.wallMs() / 1000);
    for (const { ticket } of staying) {
      const savedAt = scene.sleepRecords.records.get(ticket.deviceId)?.lastHeartbeatAt ?? 0;
      assert.ok(nowS - savedAt <= 60, `${ticket.deviceId}: ${nowS - savedAt} s behind after ${second} s`);
    }
  }
});

test('both heartbeats of a device are saved, without an event', () => {
  const scene = new SessionScene();
  const [module, controller] = [scene.sleep.login(), scene.signal.login()];
  const told = scene.events.length;
  const nowS = Math.floor(scene.clock.wallMs() / 1000);
  module.heartbeat();
  scene.clock.advance(5000);
  controller.heartbeat();
  new HeartbeatSaver(scene.directory).saveAll();
  assert.equal(scene.sleepRecords.records.get(testDevice)?.lastHeartbeatAt, nowS);
  assert.equal(scene.signalRecords.records.get(testDevice)?.lastHeartbeatAt, nowS + 5);
  assert.equal(scene.events.length, told);
});

test('it saves every second of the clock until it is cancelled', () => {
  const scene = new SessionScene();
  const peer = scene.signal.login();
  const cancel = new HeartbeatSaver(scene.directory).start(scene.clock);
  peer.heartbeat();
  scene.clock.advance(2000);
  assert.notEqual(scene.signalRecords.records.get(testDevice)?.lastHeartbeatAt, null);
  cancel();
  assert.equal(scene.clock.pendingTimers, 0);
});
