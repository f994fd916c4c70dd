/** A message from the signed request to the controller and back, over real sockets. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { messagesWaitingMax } from '../../src/model/limits.ts';
import type { ApiAnswer, ApiCall } from '../support/api-client.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const device = 'TESTDEVICE01';
const payload = { room: 'r-1', token: 'a token of é' };
const join = { device_id: device, name: 'msga_join_voip_room', payload };

let made = 0;
/** Unlike every other: the same words in the same second have the same signature, and are a repeat. */
function another(): typeof join {
  made += 1;
  return { ...join, payload: { ...payload, room: `r-${made}` } };
}

const stamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/;

function send(body: unknown, call: ApiCall = {}): Promise<ApiAnswer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return server.api.call({ method: 'POST', path: '/v1/device/message', body: text, ...call });
}

test('a message reaches the controller as it was sent, and its acknowledgement the caller', async () => {
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

test('the very same signed request joins the first while it waits, and is answered like it afterwards', async () => {
  const controller = await server.controller(device);
  const call = { atMs: Date.now() };
  const repeated = another();
  const answers = [send(repeated, call), send(repeated, call)];
  const message = await controller.nextMessage();
  controller.acknowledge(message.id);
  const [first, second] = await Promise.all(answers);
  const third = await send(repeated, call);
  assert.equal(first?.status, 200, first?.text);
  assert.deepEqual([second?.json.data, third.json.data], [first.json.data, first.json.data]);
  const sent = another();
  const other = send(sent);
  const next = await controller.nextMessage();
  assert.deepEqual(next.payload, sent.payload, 'nothing in between');
  controller.acknowledge(next.id);
  assert.equal((await other).status, 200);
  await controller.close();
});

test('a controller that goes before it acknowledges leaves 50402', async () => {
  const controller = await server.controller(device);
  const answer = send(another());
  await controller.nextMessage();
  await controller.terminate();
  const { status, json } = await answer;
  assert.deepEqual([status, json.code], [504, 50402]);
});

test('as many messages wait for a device as may; the next is 42901 with when to come back', async () => {
  const controller = await server.controller(device);
  const waiting = Array.from({ length: messagesWaitingMax }, () => send(another()));
  const messages = [];
  for (let i = 0; i < messagesWaitingMax; i++) messages.push(await controller.nextMessage());
  const refused = await send(another());
  assert.deepEqual([refused.status, refused.json.code, refused.headers['retry-after']], [429, 42901, '1']);
  for (const { id } of messages) controller.acknowledge(id);
  for (const { status, text } of await Promise.all(waiting)) assert.equal(status, 200, text);
  await controller.close();
});

const refusals: { name: string; body: unknown; code: number; call?: () => ApiCall }[] = [
  { name: 'a device that is not online', body: { ...join, device_id: 'SLEEPING02' }, code: 40412 },
  { name: 'an unknown device', body: { ...join, device_id: 'NOBODY' }, code: 40403 },
  { name: 'a disabled device', body: { ...join, device_id: 'DISABLED01' }, code: 40403 },
  { name: "another application's device", body: { ...join, device_id: 'FOREIGN01' }, code: 40302 },
  { name: 'an expired device', body: { ...join, device_id: 'EXPIRED01' }, code: 40304 },
  { name: 'bad JSON', body: '{', code: 40003 },
  { name: 'no payload', body: { ...join, payload: undefined }, code: 40003 },
  { name: 'a name with a capital', body: { ...join, name: 'Join' }, code: 40003 },
  { name: 'a payload too large', body: { ...join, payload: { text: 'x'.repeat(8192) } }, code: 40003 },
  {
    name: 'a credential that may not',
    body: join,
    code: 40301,
    call: () => ({ credential: server.credentials.reader }),
  },
];
for (const { name, body, code, call } of refusals) {
  test(`a message with ${name} is ${code}`, async () => {
    const { status, json, text } = await send(body, call?.());
    assert.deepEqual([status, json.code], [Math.floor(code / 100), code], text);
    assert.equal('data' in json, false);
    assert.ok('request_id' in json);
  });
}

test('nothing of a payload is in the log', () => {
  assert.ok(server.log.lines.length > 0);
  assert.equal(JSON.stringify(server.log.lines).includes(payload.token), false);
});
