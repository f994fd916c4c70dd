/** The client for backends against the real server: every endpoint, a wrong clock, a server restart. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test, type TestContext } from 'node:test';
import { ReveilleClient, type ReveilleClientOptions } from 'reveille/client';
import type { Cancel } from '../../src/lib/clock.ts';
import { findFreePort } from '../support/free-port.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { clearDevices, startDrivenServer } from '../support/driven-server.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
afterEach(() => clearDevices(server, [device, sleepingModule, another]));
after(() => server.stop());

const device = 'TESTDEVICE01';
const sleepingModule = 'SLEEPING01';
const another = 'SLEEPING02';

function clientOf(t: TestContext, more: Partial<ReveilleClientOptions> = {}): ReveilleClient {
  const origin = `http://127.0.0.1:${server.ports.api}`;
  const client = new ReveilleClient({ origin, credential: testCredentials.all, ...more });
  t.after(() => client.close());
  return client;
}

test('connectivity of a device, and errors of the query', async (t) => {
  const client = clientOf(t);
  const controller = await server.controller(device);
  const found = await client.connectivity(device);
  assert.ok(found.ok, found.message);
  assert.deepEqual([found.status, found.data.device_id, found.data.signal.is_online], [200, device, true]);
  assert.match(found.requestId, /^[0-9a-f-]{36}$/);
  await controller.close();
  const missing = await client.connectivity('NOBODY');
  assert.deepEqual([missing.ok, missing.status, !missing.ok && missing.code], [false, 200, 40403]);
});

test('devices are added, listed page by page, changed and removed', async (t) => {
  const client = clientOf(t);
  const ids = ['CLIENT-1', 'CLIENT-2', 'CLIENT-3'];
  const added = await client.addDevices(
    ids.map((id) => ({ device_id: id, product_id: 'doorbell', labels: { of: id } })),
  );
  assert.ok(added.ok, added.message);
  const { devices } = added.data;
  assert.deepEqual(
    devices.map(({ device_id: id, code, created, secret = '' }) => [id, code, created, secret.length]),
    ids.map((id) => [id, 0, true, 43]),
  );
  const listed: string[] = [];
  for await (const listedDevice of client.devices({ prefix: 'CLIENT-', limit: 2, online: false }))
    listed.push(listedDevice.device_id);
  assert.deepEqual(listed, ids);
  const changed = await client.changeDevice({ device_id: 'CLIENT-1', secret: true, labels: { of: null } });
  assert.ok(changed.ok, changed.message);
  assert.deepEqual([changed.data.labels, changed.data.secret?.length], [{}, 43]);
  const removed = await client.removeDevice('CLIENT-1');
  assert.deepEqual(removed.ok && removed.data, { device_id: 'CLIENT-1', removed: true });
  const again = await client.removeDevice('CLIENT-1');
  assert.deepEqual([again.ok, again.status, !again.ok && again.code], [false, 404, 40403]);
  const foreign = client.devices({ productId: 'foreign' });
  await assert.rejects(foreign.next(), { name: 'ReveilleRefusedError', code: 40302 });
});

test('each wakeup is sent, also under a used id, and its outcome is found by id and device', async (t) => {
  const client = clientOf(t);
  const module = await server.module(sleepingModule);
  const requestId = 'client-wake-1';
  const woken = await client.wake(sleepingModule, { customData: '0x12ab', requestId });
  assert.ok(woken.ok, woken.message);
  assert.deepEqual([woken.status, woken.requestId, woken.data.device_id], [202, requestId, sleepingModule]);
  const again = await client.wake(sleepingModule, { customData: '0x12ac', requestId });
  assert.ok(again.ok, again.message);
  const waiting = client.wakeupOutcome(requestId, { deviceId: sleepingModule, waitS: 20 });
  const elsewhere = await client.wakeupOutcome(requestId, { deviceId: another });
  assert.equal(elsewhere.ok ? 0 : elsewhere.code, 40413);
  const controller = await server.controller(sleepingModule);
  const outcome = await waiting;
  assert.ok(outcome.ok, outcome.message);
  assert.deepEqual([outcome.data.status, outcome.data.accepted_at], ['completed', again.data.accepted_at]);
  assert.equal((await module.nextPacket()).toString('hex'), '983b16f8f39c12ab');
  assert.equal((await module.nextPacket()).toString('hex'), '983b16f8f39c12ac');
  const next = await client.wake(sleepingModule, { customData: '0x0001' });
  assert.ok(next.ok, next.message);
  assert.equal((await module.nextPacket()).toString('hex'), '983b16f8f39c0001', 'nothing in between');
  await Promise.all([controller.close(), module.close()]);
});

test('call credentials, and the status of a call without legs', async (t) => {
  const client = clientOf(t);
  const body = {
    msg_session_key: 'session key',
    msg_room_id: 'room-1',
    msg_session_token: 'session token',
    msg_app_id: 'wx0123',
    device_id: device,
    msg_model_id: 'model-1',
    down_video_mt: 'mjpeg',
    screen_width: 160,
    screen_height: 100,
    audio_rate: 8000,
    audio_channels: 1,
  } as const;
  const issued = await client.issueCallCredentials(body);
  assert.ok(issued.ok, issued.message);
  const place = new URL(issued.data.peer_id);
  assert.deepEqual([place.protocol, place.host], ['whips:', 'msgvoip']);
  const again = await client.issueCallCredentials(body);
  assert.ok(again.ok, again.message);
  const sessionOf = (peerId: string): string | null => new URL(peerId).searchParams.get('x_session');
  assert.equal(sessionOf(again.data.peer_id), sessionOf(issued.data.peer_id));
  const status = await client.callStatus(device);
  assert.deepEqual(status.ok && status.data, { in_call: false });
  const refused = await client.issueCallCredentials({ ...body, down_video_mt: 'h264', video_mt: 'mjpeg' });
  assert.deepEqual([refused.status, !refused.ok && refused.code], [200, 40003]);
  assert.match(refused.message, /video_mt/);
});

for (const [name, minutes] of [
  ['ahead of', 20],
  ['behind', -20],
] as const)
  test(`requests succeed at a server whose clock is 20 minutes ${name} ours`, async (t) => {
    const clock = new DrivenClock(Math.floor(Date.now() / 1000) * 1000 + minutes * 60_000);
    const skewed = await startDrivenServer({ clock });
    t.after(() => skewed.stop());
    const client = clientOf(t, { origin: `http://127.0.0.1:${skewed.ports.api}` });
    assert.equal((await client.connectivity(device)).ok, true);
    const module = await skewed.module(sleepingModule);
    assert.equal((await client.wake(sleepingModule)).status, 202);
    assert.equal((await module.nextPacket()).length, 8);
    await module.close();
  });

/** Pauses of the client end at once; deadlines stay. */
class HastyClock extends SystemClock {
  override after(delayMs: number, run: () => void): Cancel {
    return super.after(delayMs <= 30_000 ? 0 : delayMs, run);
  }
}

test('events are followed across a restart of the server', async (t) => {
  const overrides = [`api.listen=127.0.0.1:${await findFreePort('127.0.0.1')}`];
  let followed = await startTestServer({ overrides });
  const origin = `http://127.0.0.1:${followed.ports.api}`;
  const client = clientOf(t, { origin, clock: new HastyClock(), timeoutMs: 60_000 });
  const troubles: Error[] = [];
  const begin = await client.events({ after: 'latest' });
  assert.ok(begin.ok, begin.message);
  const events = client.followEvents({
    after: begin.data.next,
    onTrouble: (error) => void troubles.push(error),
  });
  const first = events.next();
  const module = await followed.module(sleepingModule);
  assert.equal((await first).value?.event.type, 'device.sleep.login');
  await module.close();
  assert.equal((await events.next()).value?.event.type, 'device.sleep.offline');
  const second = events.next();
  await followed.halt();
  followed = await startTestServer({ overrides, dataDirectory: followed.dataDirectory });
  t.after(() => followed.stop());
  const controller = await followed.controller(sleepingModule);
  const event = (await second).value?.event;
  assert.deepEqual([event?.type, event?.seq], ['device.signal.online', 3]);
  assert.ok(troubles.length > 0);
  await controller.close();
  await events.return();
});
