import { test } from 'node:test';
import assert from 'node:assert/strict';
import { RefusedLogins } from '../../../../src/core/devices/refused-logins.ts';
import { DeviceDirectory } from '../../../../src/core/devices/device-directory.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { formatTimestamp } from '../../../../src/protocol/rest/shared-fields.ts';
import { type DeviceStatus, deviceRoutes } from '../../../../src/gateways/admin/device-routes.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';
import { DraftedEventLog, signalOffline, sleepLogin } from '../../../support/drafted-event-log.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import {
  FakeConnection,
  FakeLog,
  FakeRecords,
  FakeRegistry,
  FakeTelemetry,
  testApp,
  testDevice,
} from '../../../support/fakes.ts';
import { neverConnected, type ConnectionRecord } from '../../../../src/model/connectivity.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly signalRecords = new FakeRecords();
  readonly sleepRecords = new FakeRecords();
  readonly events = new DraftedEventLog();
  readonly log = new FakeLog();
  readonly telemetry = new FakeTelemetry();
  readonly refusedLogins = new RefusedLogins(this);
  readonly cluster = null;
  readonly directory = new DeviceDirectory({
    sleepRecords: this.sleepRecords,
    signalRecords: this.signalRecords,
    node: 'node-1',
  });

  logIn(): FakeConnection {
    const connection = new FakeConnection();
    const event = {
      kind: 'login',
      sessionId: 'session-1' as SessionId,
      atMs: this.clock.wallMs(),
      heartbeatAt: 0,
    } as const;
    this.directory
      .claim(testDevice)
      .post({ to: 'sleep', event, connection, wakeMode: 'fixed', secretMark: 0 });
    return connection;
  }

  ask(query: string): Promise<RouteReply> {
    return askRoute(deviceRoutes(this), 'GET', '/v1/device/status', query);
  }

  async status(): Promise<DeviceStatus> {
    const { status, body } = await this.ask(`device_id=${testDevice}`);
    assert.equal(status, 200);
    return body as DeviceStatus;
  }
}

test('a device with a session is described with its latest heartbeat, and again after its end', async () => {
  const scene = new Scene();
  const connection = scene.logIn();
  const nowS = Math.floor(scene.clock.wallMs() / 1000);
  connection.lastHeartbeatAt = nowS + 30;
  scene.clock.advance(31_000);
  const { sleep, signal, now_ms: nowMs } = await scene.status();
  assert.deepEqual(
    [sleep.state, sleep.last_login_at, sleep.last_heartbeat_at, signal.state, nowMs],
    ['open', nowS, nowS + 30, 'never', scene.clock.wallMs()],
  );
  const actor = scene.directory.find(testDevice);
  const session = actor?.session('sleep');
  assert.ok(session);
  const ended = {
    kind: 'ended',
    session,
    reason: 'reset',
    atMs: scene.clock.wallMs(),
    heartbeatAt: nowS + 30,
  } as const;
  scene.directory.find(testDevice)?.post({ to: 'sleep', event: ended });
  const after = (await scene.status()).sleep;
  assert.deepEqual(
    [after.state, after.last_heartbeat_at, after.last_offline_at],
    ['closed', nowS + 30, nowS + 31],
  );
});

test('a description waits for pending commits, within a limit', async () => {
  const scene = new Scene();
  scene.logIn();
  scene.sleepRecords.outstanding = new Promise(() => undefined);
  let isAnswered = false;
  const status = scene.status().finally(() => (isAnswered = true));
  await new Promise(setImmediate);
  assert.equal(isAnswered, false);
  scene.clock.advance(2000);
  assert.equal((await status).sleep.state, 'open');

  let commit: () => void = () => undefined;
  scene.sleepRecords.outstanding = new Promise((resolve) => (commit = resolve));
  const committed = scene.status();
  commit();
  await committed;
  assert.equal(scene.clock.pendingTimers, 0);
});

test('an unknown device is 404 and named, a missing or too long id is 400', async () => {
  const scene = new Scene();
  const unknown = await scene.ask('device_id=NOBODY');
  assert.deepEqual(unknown, { status: 404, body: { error: 'no device "NOBODY" in the registry' } });
  for (const query of ['', `device_id=${'x'.repeat(256)}`])
    assert.equal((await scene.ask(query)).status, 400);
});

test('the status of a device lists its refused logins', async () => {
  const scene = new Scene();
  const refused = { connection: 'sleep', deviceId: testDevice, address: '192.0.2.1' } as const;
  scene.refusedLogins.record({ ...refused, reason: 'wrong_mac' }, scene.registry.findDevice(testDevice));
  const at = formatTimestamp(scene.clock.wallMs());
  assert.deepEqual((await scene.status()).refused, [
    {
      device_id: testDevice,
      app_id: testApp,
      connection: 'sleep',
      reason: 'wrong_mac',
      count: 1,
      first_at: at,
      last_at: at,
      addresses: ['192.0.2.1'],
    },
  ]);
});

test('an unknown device that tried to log in is 404, with a trace of its login', async () => {
  const scene = new Scene();
  const refused = { connection: 'sleep', deviceId: 'NOBODY' as DeviceId, reason: 'unknown' } as const;
  const at = formatTimestamp(scene.clock.wallMs());
  const trace = 'no device "NOBODY" in the registry; it was refused as unknown at the sleep port';
  for (const times of ['once at', '2 times, the last at']) {
    scene.refusedLogins.record({ ...refused, address: '' }, null);
    const { status, body } = await scene.ask('device_id=NOBODY');
    assert.deepEqual([status, body], [404, { error: `${trace} ${times} ${at}` }]);
  }
});

const openRecord: ConnectionRecord = {
  ...neverConnected,
  epoch: 4,
  lastLoginAt: 900,
  lastHeartbeatAt: 950,
  openSession: 'session-1' as SessionId,
};
const closedRecord: ConnectionRecord = { ...openRecord, openSession: null, lastOfflineAt: 990 };

test('a device without a login has no connections', async () => {
  const { signal, sleep, transitions } = await new Scene().status();
  assert.deepEqual([signal.state, sleep.state, signal.epoch, transitions], ['never', 'never', 0, []]);
});

test('a session left open by a killed server is lost, on the node of its login', async () => {
  const scene = new Scene();
  scene.events.append(sleepLogin({ epoch: 3 }), sleepLogin({ epoch: 4 }));
  scene.sleepRecords.records.set(testDevice, openRecord);
  const { sleep } = await scene.status();
  assert.deepEqual(sleep, {
    state: 'lost',
    session: 'session-1',
    epoch: 4,
    node: 'node-1',
    reason: null,
    last_login_at: 900,
    last_heartbeat_at: 950,
    last_offline_at: null,
  });
});

test('an ended session has its reason, if still known', async () => {
  const scene = new Scene();
  scene.events.append(signalOffline({ epoch: 4 }), sleepLogin({ epoch: 4 }));
  scene.signalRecords.records.set(testDevice, closedRecord);
  const { signal } = await scene.status();
  assert.deepEqual([signal.state, signal.reason, signal.session], ['closed', 'heartbeat_timeout', null]);
  scene.signalRecords.records.set(testDevice, { ...closedRecord, epoch: 5 });
  const { signal: later } = await scene.status();
  assert.deepEqual([later.reason, later.node], [null, null], 'an older epoch tells nothing');
});

test('transitions have the form that backends receive, newest first, and expiry is judged at the time of the answer', async () => {
  const scene = new Scene();
  scene.events.append(sleepLogin(), signalOffline());
  scene.registry.addDevice({ expiresAt: 1000 });
  const { transitions, device: told } = await scene.status();
  assert.deepEqual(
    transitions.map(({ type, seq }) => [type, seq]),
    [
      ['device.signal.offline', 2],
      ['device.sleep.login', 1],
    ],
  );
  assert.deepEqual([told.expired, told.expires_at], [true, 1000]);
});
