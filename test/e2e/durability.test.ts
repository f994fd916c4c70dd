/** What was told survives an orderly stop, and a crash ends what was open, once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type TestServer } from '../support/test-server.ts';

async function sleepOf(server: TestServer, deviceId: string): Promise<Record<string, number | null>> {
  const answer = await server.api.connectivity(deviceId);
  assert.equal(answer.json.code, 0, answer.text);
  return (answer.json.data as { sleep: Record<string, number | null> }).sleep;
}

test('an orderly stop ends sessions as drained; login, heartbeat, end and an accepted wakeup are there after a restart', async () => {
  const first = await startTestServer();
  const module = await first.module('SLEEPING01');
  module.heartbeat();
  let before = await sleepOf(first, 'SLEEPING01');
  while (before['last_heartbeat_at'] === null) before = await sleepOf(first, 'SLEEPING01');
  const spoil = { 'X-Request-ID': 'ring-before-the-restart' };
  const accepted = await first.api.wake({ device_id: 'SLEEPING01' }, { spoil });
  assert.equal(accepted.status, 202);
  await first.halt();
  await module.closed;
  const second = await startTestServer({ dataDirectory: first.dataDirectory });
  const after = await sleepOf(second, 'SLEEPING01');
  assert.equal(after['last_login_at'], before['last_login_at']);
  assert.equal(after['last_heartbeat_at'], before['last_heartbeat_at']);
  assert.ok(Number(after['last_offline_at']) >= Number(before['last_login_at']));
  const path = '/v1/device/wakeup-request';
  const known = await second.api.call({ path, query: 'request_id=ring-before-the-restart' });
  assert.equal(known.json.data?.['accepted_at'], accepted.json.data?.['accepted_at']);
  await second.stop();
});

test('while stopping, wakeups are 503 with Retry-After, queries go on, and connections are closed behind them', async () => {
  const server = await startTestServer({ overrides: ['sleep.drain_per_second=5'] });
  const modules = [
    await server.module('SLEEPING01'),
    await server.module('SLEEPING02'),
    await server.module('TESTDEVICE01'),
  ];
  const stopping = server.server.stop();
  const wake = await server.api.wake({ device_id: 'TESTDEVICE01' });
  assert.deepEqual([wake.status, wake.json.code, wake.headers['retry-after']], [503, 50301, '1']);
  assert.equal(wake.headers.connection, 'close');
  assert.equal((await server.api.connectivity('TESTDEVICE01')).json.code, 0);
  const ready = await fetch(`http://127.0.0.1:${server.ports.ops}/readyz`);
  assert.deepEqual([ready.status, await ready.json()], [503, { ready: false, reasons: ['draining'] }]);
  await stopping;
  await Promise.all(modules.map(({ closed }) => closed));
});
