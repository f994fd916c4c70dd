/** Calls that backends end, and that devices turn down without joining them, at the real server. Source: calls-and-media.md. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LegRefused } from '../../src/tools/simulator/media-leg.ts';
import { connectBridge, connectDevice, endCall, isInCall, issueCall } from '../support/call-actions.ts';
import { metricsOf, opsOf } from '../support/driven-server.ts';
import { EventReader } from '../support/event-reader.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

let rooms = 0;
function aRoom(): { readonly msg_room_id: string } {
  rooms += 1;
  return { msg_room_id: `room-${rooms}` };
}

/** Reason and time of a call that is said to have ended; fails on any other answer. */
async function ended(fields: object): Promise<{ readonly reason: string; readonly ended_at: string }> {
  const { status, json, text } = await endCall(server, fields);
  assert.deepEqual([status, json.code, json.data?.['state']], [200, 0, 'ended'], text);
  return json.data as { readonly reason: string; readonly ended_at: string };
}

test('a backend ends a ringing call: both legs are told and closed, the token is revoked, one event', async () => {
  const reader = await EventReader.fromNow(server.api);
  const { session, token } = await issueCall(server, aRoom());
  const device = await connectDevice(server, token);
  const bridge = await connectBridge(server, { session });
  bridge.report('ringing');
  await device.next('state');
  const { reason, ended_at: endedAt } = await ended({ session, reason: 'rejected' });
  assert.equal(reason, 'rejected');
  const told = { type: 'state', session, state: 'ended', reason: 'rejected' };
  assert.deepEqual([await device.next('state'), await bridge.next('state')], [told, told]);
  assert.deepEqual([(await device.closed).code, (await bridge.closed).code], [1000, 1000]);
  assert.equal(await isInCall(server), false);
  await assert.rejects(
    connectDevice(server, token),
    (error) => error instanceof LegRefused && error.status === 401,
  );
  assert.equal((await ended({ session })).ended_at, endedAt);
  const marker = await issueCall(server, aRoom());
  await ended({ session: marker.session });
  const events = await reader.until(({ data }) => data['session'] === marker.session);
  const ends = events.filter(({ type, data }) => type === 'call.ended' && data['session'] === session);
  assert.deepEqual(
    ends.map(({ at, data }) => [at.replace('Z', '+00:00'), data['reason']]),
    [[endedAt, 'rejected']],
  );
});

test('a call is ended by its room before anybody has connected, and the room may have another', async () => {
  const room = aRoom();
  const first = await issueCall(server, room);
  const answer = await endCall(server, room);
  assert.deepEqual(Object.keys(answer.json.data ?? {}), [
    'device_id',
    'session',
    'state',
    'reason',
    'ended_at',
  ]);
  assert.deepEqual(
    [answer.json.data?.['session'], answer.json.data?.['reason']],
    [first.session, 'cancelled'],
  );
  const second = await issueCall(server, room);
  assert.notEqual(second.session, first.session);
  assert.equal((await ended({ session: first.session })).reason, 'cancelled');
  await ended({ session: second.session });
});

test('a call that the phone hung up, or an operator ended, is answered with that reason', async () => {
  const room = aRoom();
  const { session } = await issueCall(server, room);
  const bridge = await connectBridge(server, { session });
  bridge.report('ended', 'hangup_phone');
  await bridge.closed;
  assert.equal((await ended({ session })).reason, 'hangup_phone');
  assert.equal((await ended({ ...room, reason: 'rejected' })).reason, 'hangup_phone');
  const another = await issueCall(server, aRoom());
  await opsOf(server).change('/v1/calls/end', { session: another.session, reason: 'error' });
  assert.equal((await ended({ session: another.session })).reason, 'error');
});

test('of an end and a hangup at once one wins, and both sides hear the same', async () => {
  const reader = await EventReader.fromNow(server.api);
  const { session, token } = await issueCall(server, aRoom());
  const device = await connectDevice(server, token);
  device.hangup();
  const { reason } = await ended({ session });
  await device.closed;
  assert.ok(reason === 'hangup_device' || reason === 'cancelled', reason);
  const events = await reader.until(({ type, data }) => type === 'call.ended' && data['session'] === session);
  assert.equal(events.at(-1)?.data['reason'], reason);
  assert.equal((await ended({ session })).reason, reason);
});

test("a repeated signature is answered like the first, and leaves the room's next call alone", async () => {
  const room = aRoom();
  const { session } = await issueCall(server, room);
  const body = JSON.stringify({ device_id: 'TESTDEVICE01', ...room });
  const atMs = Date.now();
  const first = await endCall(server, {}, { body, atMs });
  assert.equal(first.json.data?.['session'], session);
  const next = await issueCall(server, room);
  const again = await endCall(server, {}, { body, atMs });
  assert.deepEqual(again.json, first.json);
  const device = await connectDevice(server, next.token);
  device.hangup();
  await device.closed;
});

test('a call that ended before a restart is known by its session from the log', async (t) => {
  const first = await startTestServer();
  const { session } = await issueCall(first, aRoom());
  await endCall(first, { session });
  await first.halt();
  const second = await startTestServer({ dataDirectory: first.dataDirectory });
  t.after(() => second.stop());
  const { json, text } = await endCall(second, { session, reason: 'rejected' });
  assert.deepEqual([json.code, json.data?.['reason']], [0, 'cancelled'], text);
});

test('a device that is online turns a call down without joining it, and the bridge is told', async () => {
  const controller = await server.controller('TESTDEVICE01');
  for (const reason of ['rejected', 'busy'] as const) {
    const { session, token } = await issueCall(server, aRoom());
    const bridge = await connectBridge(server, { session });
    bridge.report('ringing');
    controller.rejectCall('no-such-session', reason);
    controller.rejectCall(session, reason);
    const told = { type: 'state', session, state: 'ended', reason };
    assert.deepEqual(await bridge.next('state'), told);
    assert.equal((await bridge.closed).code, 1000);
    assert.equal((await ended({ session })).reason, reason);
    await assert.rejects(
      connectDevice(server, token),
      (error) => error instanceof LegRefused && error.status === 401,
    );
  }
  const metrics = await metricsOf(server);
  assert.match(metrics, /reveille_call_rejections_total\{result="taken"\} 2/);
  assert.match(metrics, /reveille_call_rejections_total\{result="stray"\} 2/);
  await controller.close();
});

test("a device does not turn down another device's call, nor one that is connected", async () => {
  const { session, token } = await issueCall(server, { ...aRoom(), device_id: 'SLEEPING01' });
  const stranger = await server.controller('TESTDEVICE01');
  stranger.rejectCall(session, 'rejected');
  stranger.heartbeat();
  await stranger.close();
  const device = await connectDevice(server, token);
  const bridge = await connectBridge(server, { session });
  bridge.report('connected');
  await device.next('state');
  const controller = await server.controller('SLEEPING01');
  controller.rejectCall(session, 'rejected');
  await controller.close();
  assert.equal(await isInCall(server, 'SLEEPING01'), true);
  device.hangup();
  assert.equal((await bridge.next('state'))['reason'], 'hangup_device');
  await bridge.closed;
});
