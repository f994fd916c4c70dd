/** Bridges that wake the device of their call. Source: docs/call-flow.md, Assignment of bridges. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallDirectory } from '../../../../src/core/calls/call-directory.ts';
import { CalledDevices } from '../../../../src/core/calls/called-devices.ts';
import type { RequestId, SessionId, TokenId } from '../../../../src/model/ids.ts';
import { callOrder, orderForRoom } from '../../../support/call-scene.ts';
import { ClusterScene, untilIdle } from '../../../support/cluster-scene.ts';
import { FakeCallLeg, FakeCallRecords, type FakeConnection } from '../../../support/fakes.ts';

/** The first member has the calls; the device may be at either. */
class CalledScene extends ClusterScene {
  readonly directory: CallDirectory;

  constructor(nodes: readonly string[] = ['n1', 'n2']) {
    super(nodes);
    const { clock } = this;
    const { telemetry, log, deps: wakeups, answeredWakeups } = this.member(0);
    this.directory = new CallDirectory({ clock, records: new FakeCallRecords(), telemetry });
    this.directory.follow(
      new CalledDevices({ clock, log, directory: this.directory, wakeups, answeredWakeups }),
    );
  }

  issue(order = callOrder()): SessionId {
    const result = this.directory.issue(order);
    assert.ok('session' in result);
    return result.session.sessionId;
  }

  /** A bridge connects to the call. */
  async bridgeComes(sessionId: SessionId): Promise<FakeCallLeg> {
    const leg = new FakeCallLeg();
    assert.ok(this.directory.connectBridge(sessionId, leg));
    await untilIdle();
    return leg;
  }

  deviceConnects(sessionId: SessionId): FakeCallLeg {
    const leg = new FakeCallLeg();
    assert.ok(this.directory.connectDevice(sessionId, 'token-1' as TokenId, leg));
    return leg;
  }
}

for (const asleepAt of [0, 1])
  test(`a bridge wakes the sleeping device of its call, at member ${asleepAt}, with an event under an id of the server's`, async () => {
    const scene = new CalledScene();
    const { connection } = scene.member(asleepAt).sleep();
    await scene.bridgeComes(scene.issue());
    assert.deepEqual(connection.wakes, [null]);
    assert.match(scene.wakeupEvents().join(), /^accepted [0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

test('a call causes one wakeup, however often its bridge reconnects; another call has its own', async () => {
  const scene = new CalledScene();
  const { connection } = scene.member(0).sleep();
  const sessionId = scene.issue();
  const leg = await scene.bridgeComes(sessionId);
  scene.directory.disconnected(sessionId, 'bridge', leg);
  await scene.bridgeComes(sessionId);
  assert.equal(connection.wakes.length, 1);
  await scene.bridgeComes(scene.issue(orderForRoom('room-2')));
  assert.equal(connection.wakes.length, 2);
});

test('nothing is sent to a device that is online, here or elsewhere', async () => {
  for (const onlineAt of [0, 1]) {
    const scene = new CalledScene();
    const { connection } = scene.member(0).sleep();
    scene.member(onlineAt).connectController();
    await scene.bridgeComes(scene.issue());
    assert.deepEqual(connection.wakes, []);
  }
});

test('a device that is connected to the call is not woken; one that disconnected is', async () => {
  const scene = new CalledScene();
  const { connection } = scene.member(0).sleep();
  const connected = scene.issue();
  scene.deviceConnects(connected);
  await scene.bridgeComes(connected);
  assert.deepEqual(connection.wakes, []);
  const left = scene.issue(orderForRoom('room-2'));
  scene.directory.disconnected(left, 'device', scene.deviceConnects(left));
  await scene.bridgeComes(left);
  assert.equal(connection.wakes.length, 1);
});

test('a refused wakeup is logged with its code and found by its request id, and the call continues', async () => {
  const scene = new CalledScene();
  const sessionId = scene.issue();
  await scene.bridgeComes(sessionId);
  assert.match(
    JSON.stringify(scene.member(0).log.lines),
    /"code":40412.*call: device not woken: wakeup refused/,
  );
  const line = scene.member(0).log.lines.find(({ message }) => message === 'wakeup refused');
  assert.ok(line !== undefined);
  const requestId = (line.fields as { request_id: RequestId }).request_id;
  const [refused, ...others] = scene.member(0).answeredWakeups.refusals.list(requestId, null, 10);
  assert.deepEqual([refused?.code, others], [40412, []]);
  assert.equal(scene.directory.find(sessionId)?.state, 'establishing');
});

test('the limits of wakeups apply to bridges as well', async () => {
  const scene = new CalledScene();
  const { connection } = scene.member(0).sleep();
  for (let room = 0; room < 4; room++) await scene.bridgeComes(scene.issue(orderForRoom(`room-${room}`)));
  assert.equal(connection.wakes.length, 3);
  assert.match(JSON.stringify(scene.member(0).log.lines), /"code":42901/);
});

test('an unreadable store is logged, and no device is woken', async () => {
  const scene = new CalledScene();
  const connection: FakeConnection = scene.member(1).sleep().connection;
  scene.shared.fault = 'broken';
  await scene.bridgeComes(scene.issue());
  assert.deepEqual(connection.wakes, []);
  assert.match(
    JSON.stringify(scene.member(0).log.lines),
    /call: device not woken: its shared row is unreadable/,
  );
});
