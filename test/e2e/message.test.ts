/** A message from the signed request to the controller and back, over real sockets. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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

test('a sleeping device is woken for its message: one request, and what waking took', async () => {
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
