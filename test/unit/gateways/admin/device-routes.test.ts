import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceDirectory } from '../../../../src/core/devices/device-directory.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import type { DeviceStatus } from '../../../../src/gateways/admin/device-status.ts';
import { deviceRoutes } from '../../../../src/gateways/admin/device-routes.ts';
import { DraftedEventLog } from '../../../support/drafted-event-log.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeConnection, FakeLog, FakeRecords, FakeRegistry, testDevice } from '../../../support/fakes.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly signalRecords = new FakeRecords();
  readonly sleepRecords = new FakeRecords();
  readonly events = new DraftedEventLog();
  readonly log = new FakeLog();
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

  ask(query: string): Promise<{ readonly status: number; readonly body: unknown }> {
    const [route] = deviceRoutes(this);
    assert.ok(route !== undefined);
    return route.handle({ query: new URLSearchParams(query), body: undefined });
  }

  async status(): Promise<DeviceStatus> {
    const { status, body } = await this.ask(`device_id=${testDevice}`);
    assert.equal(status, 200);
    return body as DeviceStatus;
  }
}

test('a device with a session is told with its latest heartbeat, and again when it has gone', async () => {
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
  const ended = {
    kind: 'ended',
    epoch: 1,
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

test('what is on its way to the store is waited for, though not for ever', async () => {
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
