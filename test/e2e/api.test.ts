/** The signed API at the real server, over real sockets: authentication, events, messages, wakeups and device records. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import type { ApiAnswer, ApiCall } from '../support/api-client.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const device = 'TESTDEVICE01';

test('a signature mismatch of a known credential shows what the server computed, and no secret', async () => {
  const { all } = server.credentials;
  const answer = await server.api.connectivity(device, { credential: { ...all, secretKey: 'wrong' } });
  const data = answer.json.data as { canonical_request: string; string_to_sign: string };
  assert.match(data.canonical_request, /^GET\n\/v1\/device\/connectivity\ndevice_id=TESTDEVICE01\n/);
  assert.match(data.string_to_sign, /^TGV1-HMAC-SHA256\n\d{8}T\d{6}Z\n\d{8}\/tgv1_request\n[0-9a-f]{64}$/);
  assert.equal(answer.text.includes(all.secretKey), false);
});

test('other failures show nothing', async () => {
  const answer = await server.api.connectivity(device, { spoil: { Authorization: 'x' } });
  assert.equal('data' in answer.json, false);
});

interface EventJson {
  readonly type: string;
  readonly device_id: string;
  readonly seq: number;
  readonly epoch: number | null;
  readonly data: Record<string, unknown>;
}

interface PageJson {
  readonly events: readonly EventJson[];
  readonly next: string;
  readonly truncated: boolean;
}

async function page(query: string, call: ApiCall = {}): Promise<PageJson> {
  const { status, json, text } = await server.api.call({ path: '/v1/events', query, ...call });
  assert.deepEqual([status, json.code], [200, 0], text);
  return json.data as unknown as PageJson;
}

const stamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/;

test('a long poll returns the complete event of a controller that comes online', async () => {
  const { next } = await page('after=latest');
  const answer = page(`after=${next}&wait=30`);
  const controller = await server.controller('TESTDEVICE01', { media: { codecs: ['h264'] } });
  const { events, truncated } = await answer;
  assert.deepEqual([events.length, truncated], [1, false]);
  const [event] = events;
  assert.ok(event !== undefined);
  assert.deepEqual(Object.keys(event), ['id', 'type', 'at', 'device_id', 'seq', 'epoch', 'data']);
  const { id, at, data, ...rest } = event as EventJson & { id: string; at: string };
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.match(at, stamp);
  assert.deepEqual(rest, { type: 'device.signal.online', device_id: 'TESTDEVICE01', seq: 1, epoch: 1 });
  assert.deepEqual(Object.keys(data), ['session', 'node', 'replaced', 'media']);
  assert.deepEqual([data['replaced'], data['media']], [false, { codecs: ['h264'] }]);
  await controller.bye('asleep');
});

test("an application reads events of its own products' devices only", async () => {
  const other = { credential: server.credentials.other };
  const { next } = await page('after=latest', other);
  const answer = page(`after=${next}&wait=30`, other);
  const [mine, theirs] = [await server.module('SLEEPING02'), await server.module('FOREIGN01')];
  assert.deepEqual(
    (await answer).events.map(({ device_id }) => device_id),
    ['FOREIGN01'],
  );
  const seen = await page('limit=1000');
  assert.ok(seen.events.length > 0);
  assert.ok(seen.events.every(({ device_id }) => device_id !== 'FOREIGN01'));
  await mine.close();
  await theirs.close();
});
const payload = { room: 'r-1', token: 'a token of é' };
const join = { device_id: device, name: 'msga_join_voip_room', payload };

let made = 0;
/** Unique: an equal body in the same second has the same signature, and would be a repeat. */
function another(): typeof join {
  made += 1;
  return { ...join, payload: { ...payload, room: `r-${made}` } };
}

function send(body: unknown, call: ApiCall = {}): Promise<ApiAnswer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return server.api.call({ method: 'POST', path: '/v1/device/message', body: text, ...call });
}

test('a message reaches the controller unchanged, and its acknowledgement the backend', async () => {
  const controller = await server.controller(device);
  const sent = another();
  const answer = send(sent, { spoil: { 'X-Request-ID': 'not taken here' } });
  const message = await controller.nextMessage();
  assert.deepEqual(message, { id: message.id, name: join.name, payload: sent.payload });
  controller.acknowledge(message.id);
  const { status, json, headers } = await answer;
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(json), ['request_id', 'code', 'message', 'data']);
  assert.deepEqual(
    { ...json.data, acknowledged_at: null },
    { device_id: device, id: message.id, acknowledged_at: null },
  );
  assert.match(String(json.data?.['acknowledged_at']), stamp);
  assert.equal(json['request_id'], headers['x-tg-request-id']);
  assert.notEqual(json['request_id'], 'not taken here');
  await controller.close();
});

test('a sleeping device is woken for its message with one request, which reports the wake time', async () => {
  const module = await server.module('SLEEPING01');
  const sent = { ...another(), device_id: 'SLEEPING01', wake: true };
  const answer = send(sent);
  assert.equal((await module.nextPacket()).toString('hex'), '983b16f8f39c0000');
  const controller = await server.controller('SLEEPING01', { autoAcknowledge: true });
  const { status, json } = await answer;
  assert.equal(status, 200);
  assert.deepEqual((await controller.nextMessage()).payload, sent.payload);
  const wakeup = json.data?.['wakeup'] as Record<string, unknown>;
  assert.deepEqual(Object.keys(wakeup), ['request_id', 'status', 'accepted_at', 'woke_after_ms']);
  const outcome = await server.api.call({
    path: '/v1/device/wakeup-request',
    query: `request_id=${String(wakeup['request_id'])}`,
  });
  assert.equal(outcome.json.data?.['woke_after_ms'], wakeup['woke_after_ms']);
  assert.equal(outcome.json.data?.['status'], 'completed');
  await controller.close();
  await module.close();
});

test('nothing of a payload is in the log', () => {
  assert.ok(server.log.lines.length > 0);
  assert.equal(JSON.stringify(server.log.lines).includes(payload.token), false);
});

const asleep = 'SLEEPING01';
const fixedPacket = Buffer.from('983b16f8f39c0000', 'hex');

test('a sleeping device receives the exact bytes and the answer is 202 under the effective request id', async () => {
  const module = await server.module(asleep);
  const answer = await server.api.wake({ device_id: asleep }, { spoil: { 'X-Request-ID': 'ring-1' } });
  assert.equal(answer.status, 202, answer.text);
  assert.deepEqual(Object.keys(answer.json).sort(), ['code', 'data', 'message', 'request_id']);
  assert.equal(answer.json['request_id'], 'ring-1');
  assert.equal(answer.headers['x-tg-request-id'], 'ring-1');
  assert.deepEqual(
    { ...answer.json.data, accepted_at: null },
    { device_id: asleep, status: 'accepted', accepted_at: null },
  );
  assert.match(String(answer.json.data?.['accepted_at']), stamp);
  assert.deepEqual(await module.nextPacket(), fixedPacket);
  await module.close();
});

test('custom data is in the last two bytes in the given order', async () => {
  const module = await server.module('SLEEPING02');
  assert.equal((await server.api.wake({ device_id: 'SLEEPING02', custom_data: '0x12aB' })).status, 202);
  assert.deepEqual(await module.nextPacket(), Buffer.from('983b16f8f39c12ab', 'hex'));
  await module.close();
});

test('two equal wakeups within a second are one write, and both request ids find the outcome', async () => {
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

test('connectivity has login, heartbeat and end of the sleep connection, and signal is unchanged', async () => {
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
  const before = await sleepOf();
  assert.ok(Number(before['last_login_at']) >= startS);
  assert.equal(before['last_heartbeat_at'], null, 'a login is no heartbeat');
  module.heartbeat();
  let beaten = before;
  while (beaten['last_heartbeat_at'] === null) beaten = await sleepOf();
  assert.ok(Number(beaten['last_heartbeat_at']) >= startS);
  const offlineBefore = beaten['last_offline_at'];
  await module.close();
  let ended = beaten;
  while (ended['last_offline_at'] === offlineBefore && Number(offlineBefore) < startS)
    ended = await sleepOf();
  assert.ok(Number(ended['last_offline_at']) >= startS);
});

test('during a stop wakeups are 503 with Retry-After, queries are answered, and connections close after them', async () => {
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
