import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionFollower } from '../../../../src/core/devices/device-directory.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { testDevice } from '../../../support/fakes.ts';
import { SessionScene, testNode } from '../../../support/session-scene.ts';

/** Records notifications, with the length of the log at that time. */
class RecordingFollower implements SessionFollower {
  readonly told: string[] = [];
  readonly #scene: SessionScene;
  readonly #name: string;

  constructor(scene: SessionScene, name = 'follower') {
    this.#scene = scene;
    this.#name = name;
  }

  sessionChanged(...[connection, , change]: Parameters<SessionFollower['sessionChanged']>): void {
    const what = `${connection} ${change.kind} ${change.epoch}`;
    this.told.push(`${this.#name}: ${what} after ${this.#scene.events.length} events`);
  }
}

test('the same actor is found while the device has a session', () => {
  const scene = new SessionScene();
  assert.equal(scene.directory.find(testDevice), null);
  const peer = scene.signal.login();
  const actor = scene.directory.find(testDevice);
  assert.equal(scene.directory.claim(testDevice), actor);
  assert.equal(scene.directory.size, 1);
  peer.end('peer_closed');
  assert.equal(scene.directory.find(testDevice), null);
});

test('followers are notified of each change but heartbeats, after its event is written', () => {
  const scene = new SessionScene();
  const [first, second] = [new RecordingFollower(scene, 'first'), new RecordingFollower(scene, 'second')];
  scene.directory.follow(first);
  scene.directory.follow(second);
  const module = scene.sleep.login();
  scene.signal.login();
  scene.sleep.login();
  module.end('heartbeat_timeout');
  const heartbeat = { kind: 'heartbeat', heartbeatAt: 1_795_163_400 } as const;
  scene.directory.find(testDevice)?.post({ to: 'sleep', event: heartbeat });
  scene.directory.find(testDevice)?.post({ to: 'signal', event: heartbeat });
  assert.deepEqual(first.told, [
    'first: sleep opened 1 after 1 events',
    'first: signal opened 1 after 2 events',
    'first: sleep opened 2 after 3 events',
  ]);
  assert.equal(second.told.length, 3);
  for (const { writes } of [scene.sleepRecords, scene.signalRecords])
    assert.equal(writes.at(-1)?.lastHeartbeatAt, 1_795_163_400);
});

test('the online event precedes the events of followers', () => {
  const scene = new SessionScene();
  scene.directory.follow({
    sessionChanged: (_connection, deviceId, { kind, epoch, atMs }) => {
      const data = { request_id: 'wakeup-1' as never, woke_after_ms: 5 };
      assert.equal(kind, 'opened');
      scene.events.push({ type: 'device.wakeup.completed', deviceId, atMs, epoch, data });
    },
  });
  scene.signal.login();
  assert.deepEqual(
    scene.events.map(({ type }) => type),
    ['device.signal.online', 'device.wakeup.completed'],
  );
});

test('an event has the session, the node and the time, and is written with the record', () => {
  const scene = new SessionScene();
  const media = { video: { codecs: ['H264'] } };
  const peer = scene.signal.admit({ media });
  assert.ok(typeof peer === 'object');
  const atMs = scene.clock.wallMs();
  assert.deepEqual(scene.events, [
    {
      type: 'device.signal.online',
      deviceId: testDevice,
      atMs,
      epoch: 1,
      data: { session: peer.ticket.sessionId, node: testNode, replaced: false, media },
    },
  ]);
  assert.equal(scene.signalRecords.records.get(testDevice)?.openSession, peer.ticket.sessionId);
});

test('the sleep record of a device that only signals is not read', () => {
  const scene = new SessionScene();
  scene.sleepRecords.failure = new Error('the store cannot be read');
  const peer = scene.signal.login();
  assert.equal(scene.directory.find(testDevice)?.findWakeable(false), 40412);
  peer.end('peer_closed');
  assert.equal(scene.directory.size, 0);
});

test('devices may connect and disconnect during an iteration', () => {
  const scene = new SessionScene();
  const ids = ['A', 'B', 'C'] as DeviceId[];
  for (const deviceId of [...ids, 'D' as DeviceId]) scene.registry.addDevice({ deviceId });
  const peers = ids.map((id) => scene.sleep.login(id));
  const seen: string[] = [];
  for (const actor of scene.directory.actors()) {
    seen.push(actor.deviceId);
    if (actor.deviceId !== 'A') continue;
    peers[0]?.end('reset');
    peers[1]?.end('reset');
    scene.sleep.login('D' as DeviceId);
  }
  assert.deepEqual(seen, ['A', 'C', 'D']);
});
