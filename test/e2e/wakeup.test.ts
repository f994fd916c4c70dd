/** A wakeup from the signed request to the bytes at the device, over real sockets. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiAnswer } from '../support/api-client.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const device = 'SLEEPING01';
const fixedPacket = Buffer.from('983b16f8f39c0000', 'hex');
const accepted = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/;

test('a sleeping device receives the exact bytes and the answer is 202 under the effective request id', async () => {
  const module = await server.module(device);
  const answer = await server.api.wake({ device_id: device }, { spoil: { 'X-Request-ID': 'ring-1' } });
  assert.equal(answer.status, 202, answer.text);
  assert.deepEqual(Object.keys(answer.json).sort(), ['code', 'data', 'message', 'request_id']);
  assert.equal(answer.json['request_id'], 'ring-1');
  assert.equal(answer.headers['x-tg-request-id'], 'ring-1');
  assert.deepEqual(
    { ...answer.json.data, accepted_at: null },
    { device_id: device, status: 'accepted', accepted_at: null },
  );
  assert.match(String(answer.json.data?.['accepted_at']), accepted);
  assert.deepEqual(await module.nextPacket(), fixedPacket);
  await module.close();
});

test('custom data stands in the last two bytes in the order written', async () => {
  const module = await server.module('SLEEPING02');
  assert.equal((await server.api.wake({ device_id: 'SLEEPING02', custom_data: '0x12aB' })).status, 202);
  assert.deepEqual(await module.nextPacket(), Buffer.from('983b16f8f39c12ab', 'hex'));
  await module.close();
});

test('two wakeups alike within one second are one write, and the outcome is found by either request id', async () => {
  const module = await server.module('SLEEPING02');
  const atMs = Date.now();
  const ring = (id: string): Promise<ApiAnswer> =>
    server.api.wake({ device_id: 'SLEEPING02' }, { atMs, spoil: { 'X-Request-ID': id } });
  const answers = await Promise.all(['ring-a', 'ring-b'].map(ring));
  const first = answers.find(({ headers }) => headers['x-tg-repeat-of'] === undefined) ?? assert.fail();
  const second = answers.find((answer) => answer !== first) ?? assert.fail();
  const [own, repeat] = [first, second].map(({ json }) => String(json['request_id']));
  assert.deepEqual([first.status, second.status], [202, 202]);
  assert.deepEqual(second.json.data, first.json.data);
  assert.equal(second.headers['x-tg-repeat-of'], own);
  assert.equal(second.headers['x-tg-request-id'], repeat);
  const again = await ring(own ?? '');
  assert.deepEqual(
    [again.status, again.headers['x-tg-repeat-of']],
    [202, own],
    'an exact repeat is marked, too',
  );
  const invalid = await ring('é');
  assert.deepEqual([invalid.json.code, invalid.headers['x-tg-repeat-of']], [40003, undefined]);
  const outcome = (id = ''): Promise<ApiAnswer> =>
    server.api.call({ path: '/v1/device/wakeup-request', query: `request_id=${id}&device_id=SLEEPING02` });
  const [ofFirst, ofSecond] = [await outcome(own), await outcome(repeat)];
  assert.equal(ofFirst.headers['x-tg-repeat-of'], undefined);
  assert.equal(ofSecond.headers['x-tg-repeat-of'], own);
  assert.deepEqual(ofSecond.json.data, { ...ofFirst.json.data, request_id: repeat });
  const unnamed = await server.api.wake({ device_id: 'SLEEPING02' }, { atMs });
  const made = String(unnamed.json['request_id']);
  assert.equal(unnamed.headers['x-tg-repeat-of'], own);
  assert.equal((await outcome(made)).json.code, 0, 'so does an id that the server made');
  await module.nextPacket();
  assert.equal((await server.api.wake({ device_id: 'SLEEPING02' }, { atMs: atMs + 1000 })).status, 202);
  await module.nextPacket();
  await module.close();
});

test('connectivity tells login, heartbeat and end of the sleep connection, and signal stays untouched', async () => {
  const startS = Math.floor(Date.now() / 1000);
  const sleepOf = async (): Promise<Record<string, number | null>> => {
    const answer = await server.api.connectivity('SLEEPING02');
    assert.equal(answer.json.code, 0, answer.text);
    const data = answer.json.data as { signal: object; sleep: Record<string, number | null> };
    assert.deepEqual(data.signal, {
      is_online: false,
      last_login_at: null,
      last_heartbeat_at: null,
      last_offline_at: null,
    });
    return data.sleep;
  };
  const module = await server.module('SLEEPING02');
  const asleep = await sleepOf();
  assert.ok(Number(asleep['last_login_at']) >= startS);
  assert.equal(asleep['last_heartbeat_at'], null, 'a login is no heartbeat');
  module.heartbeat();
  let beaten = asleep;
  while (beaten['last_heartbeat_at'] === null) beaten = await sleepOf();
  assert.ok(Number(beaten['last_heartbeat_at']) >= startS);
  const offlineBefore = beaten['last_offline_at'];
  await module.close();
  let ended = beaten;
  while (ended['last_offline_at'] === offlineBefore && Number(offlineBefore) < startS)
    ended = await sleepOf();
  assert.ok(Number(ended['last_offline_at']) >= startS);
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
