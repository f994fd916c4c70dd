/** Calls at the real server, over real sockets: backend, device and bridge. Source: calls-and-media.md. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LegRefused } from '../../src/tools/simulator/media-leg.ts';
import {
  askCredentials,
  connectBridge,
  connectDevice,
  isInCall,
  issueCall,
  mediaUrl,
  msgSessionKey,
  msgSessionToken,
} from '../support/call-actions.ts';
import { opsOf } from '../support/driven-server.ts';
import { EventReader } from '../support/event-reader.ts';
import { startTestServer, testBridgeKeys, testCredentials, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

/** Every test has a room of its own, and leaves no session behind. */
let rooms = 0;
function aRoom(change: object = {}): object {
  rooms += 1;
  return { msg_room_id: `room-${rooms}`, ...change };
}

function endSession(session: string): Promise<unknown> {
  return opsOf(server).change('/v1/calls/end', { session });
}

async function refusalOf(connecting: Promise<unknown>): Promise<number> {
  const error: unknown = await connecting.then(
    () => null,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof LegRefused, String(error));
  return error.status;
}

test('a call goes from issued credentials to a hangup, and everybody is told the same', async () => {
  const reader = await EventReader.fromNow(server.api);
  const bridge = await connectBridge(server);
  const { session, token, peerId } = await issueCall(server, aRoom({ msg_payload: 'passed through' }));
  const { assign, start } = await bridge.acceptAssignment();
  assert.deepEqual(assign, { type: 'assign', session });
  assert.deepEqual(start, {
    type: 'start',
    request: { width: 320, height: 240, rotation: 0, max_fps: 15 },
    audio: { format: 'alaw', rate: 8000, channels: 1 },
    payload: 'passed through',
    room: {
      app_id: 'wx0123456789abcdef',
      model_id: 'model_1',
      room_id: `room-${rooms}`,
      session_key: msgSessionKey,
      session_token: msgSessionToken,
    },
  });
  assert.equal(
    peerId,
    `whips://msgvoip?x_msg_app_id=wx0123456789abcdef&x_msg_model_id=model_1&x_msg_room_id=room-${rooms}` +
      `&x_device_id=TESTDEVICE01&x_session=${session}`,
  );
  assert.equal(await isInCall(server), true);

  const device = await connectDevice(server, token);
  bridge.report('ringing');
  const ringing = await device.next('state');
  assert.deepEqual(ringing, { type: 'state', session, state: 'ringing', reason: null });
  device.accept();
  assert.deepEqual(await bridge.next('state'), { type: 'state', session, state: 'attempting', reason: null });
  bridge.report('connected');
  assert.deepEqual(await device.next('state'), { type: 'state', session, state: 'connected', reason: null });
  bridge.report('ended', 'hangup_phone');
  assert.deepEqual(await device.next('state'), {
    type: 'state',
    session,
    state: 'ended',
    reason: 'hangup_phone',
  });
  assert.equal((await device.closed).code, 1000);
  assert.equal((await bridge.closed).code, 1000);
  assert.equal(await isInCall(server), false);
  const events = await reader.until(({ type, data }) => type === 'call.ended' && data['session'] === session);
  assert.deepEqual(
    events
      .filter(({ data }) => data['session'] === session)
      .map(({ type, epoch, data }) => [type, epoch, data]),
    [
      ['call.started', null, { session, state: 'establishing', reason: null }],
      ['call.state', null, { session, state: 'ringing', reason: null }],
      ['call.state', null, { session, state: 'attempting', reason: null }],
      ['call.state', null, { session, state: 'connected', reason: null }],
      ['call.ended', null, { session, state: 'ended', reason: 'hangup_phone' }],
    ],
  );
});

test('issued credentials alone are no call, and a device that connects makes them one', async () => {
  const { session, token } = await issueCall(server, aRoom());
  assert.equal(await isInCall(server), false);
  const device = await connectDevice(server, token);
  assert.equal(await isInCall(server), true);
  device.hangup();
  assert.equal((await device.closed).code, 1000);
  assert.equal(await isInCall(server), false);
  assert.equal(await refusalOf(connectDevice(server, token)), 401, `the token of ${session} is revoked`);
});

test('an audio-only call asks the phone for no video', async () => {
  const { session } = await issueCall(
    server,
    aRoom({ no_video: true, down_video_mt: '', video_res_mode: 'auto', audio_rate: 16000 }),
  );
  const bridge = await connectBridge(server, { session });
  const start = await bridge.next('start');
  assert.equal(start['request'], null);
  assert.deepEqual(start['audio'], { format: 'alaw', rate: 16000, channels: 1 });
  bridge.report('ended');
  await bridge.closed;
});

test('a bridge takes a session by its name if it is of its application, and of no other', async () => {
  const { session } = await issueCall(server, aRoom());
  assert.equal(await refusalOf(connectBridge(server, { key: testBridgeKeys.other, session })), 404);
  assert.equal(await refusalOf(connectBridge(server, { session: 'no-such-session' })), 404);
  assert.equal(await refusalOf(connectBridge(server, { key: testBridgeKeys.revoked, session })), 401);
  assert.equal(await refusalOf(connectBridge(server, { key: 'guessed', session })), 401);
  const bridge = await connectBridge(server, { session });
  await bridge.next('start');
  const second = await connectBridge(server, { session });
  assert.equal((await bridge.closed).code, 4409);
  await second.next('start');
  await endSession(session);
  assert.deepEqual(await second.next('state'), {
    type: 'state',
    session,
    state: 'ended',
    reason: 'cancelled',
  });
  assert.equal((await second.closed).code, 1000);
});

test('a bridge that refuses or leaves is followed by the next one, and a call waits for one', async () => {
  const first = await connectBridge(server);
  const second = await connectBridge(server);
  const { session } = await issueCall(server, aRoom());
  assert.equal((await first.next('assign'))['session'], session);
  first.send({ type: 'refuse' });
  assert.equal((await second.next('assign'))['session'], session);
  await second.terminate();
  await first.close();
  const third = await connectBridge(server);
  const { assign } = await third.acceptAssignment();
  assert.equal(assign.session, session);
  third.report('ended', 'busy');
  await third.closed;
});

test('a second leg of the device replaces the first, and the call goes on', async () => {
  const { session, token } = await issueCall(server, aRoom());
  const first = await connectDevice(server, token);
  const second = await connectDevice(server, token);
  assert.equal((await first.closed).code, 4409);
  assert.equal(await isInCall(server), true);
  second.reject();
  await second.closed;
  assert.equal(await refusalOf(connectBridge(server, { session })), 404);
});

test('a leg that comes to a call which has moved on is told how far it is', async () => {
  const { session, token } = await issueCall(server, aRoom());
  const device = await connectDevice(server, token);
  device.accept();
  await device.ping();
  const bridge = await connectBridge(server, { session });
  await bridge.next('start');
  const attempting = { type: 'state', session, state: 'attempting', reason: null };
  assert.deepEqual(await bridge.next('state'), attempting);
  await device.terminate();
  const back = await connectDevice(server, token);
  assert.deepEqual(await back.next('state'), attempting);
  back.hangup();
  await Promise.all([back.closed, bridge.closed]);
});

test('what a bridge says of another call changes nothing, and is counted', async () => {
  const { session } = await issueCall(server, aRoom());
  const bridge = await connectBridge(server, { session });
  await bridge.next('start');
  bridge.send({ type: 'state', session: 'another', state: 'ended' });
  await bridge.ping();
  assert.equal(await isInCall(server), true);
  const metrics = await (await fetch(`http://127.0.0.1:${server.ports.ops}/metrics`)).text();
  assert.match(metrics, /reveille_call_reports_total{result="stray"} [1-9]/);
  bridge.send({ type: 'state', session, state: 'ended' });
  await bridge.closed;
});

test('when a device takes one of its calls, the others end as replaced', async () => {
  const reader = await EventReader.fromNow(server.api);
  const taken = await issueCall(server, aRoom());
  const other = await issueCall(server, aRoom());
  const bridge = await connectBridge(server, { session: other.session });
  await bridge.next('start');
  const device = await connectDevice(server, taken.token);
  assert.deepEqual(await bridge.next('state'), {
    type: 'state',
    session: other.session,
    state: 'ended',
    reason: 'replaced',
  });
  device.hangup();
  await device.closed;
  const told = await reader.until(
    ({ type, data }) => type === 'call.ended' && data['session'] === taken.session,
  );
  const names = new Map([
    [taken.session, 'taken'],
    [other.session, 'other'],
  ]);
  const types = told.flatMap(({ type, data }) => {
    const name = names.get(String(data['session']));
    return name === undefined ? [] : [[type, name]];
  });
  assert.deepEqual(types, [
    ['call.started', 'other'],
    ['call.ended', 'other'],
    ['call.started', 'taken'],
    ['call.ended', 'taken'],
  ]);
});

test('a device has at most four live sessions, and the one longest issued makes room', async () => {
  const made = [];
  for (let count = 0; count < 5; count += 1) made.push(await issueCall(server, aRoom()));
  const [first, ...rest] = made;
  assert.ok(first !== undefined);
  assert.equal(await refusalOf(connectDevice(server, first.token)), 401);
  for (const { session } of rest) await (await connectBridge(server, { session })).next('start');
  const full = await askCredentials(server, aRoom());
  assert.deepEqual([full.status, full.json.code], [200, 42901], full.text);
  for (const { session } of rest) await endSession(session);
});

test('asked again for the same room, it is the same session with a fresh token', async () => {
  const room = aRoom();
  const first = await issueCall(server, room);
  const second = await issueCall(server, { ...room, screen_width: 240 });
  assert.equal(second.session, first.session, 'media may change while nobody is connected');
  assert.notEqual(second.token, first.token);
  const bridge = await connectBridge(server, { session: first.session });
  await bridge.next('start');
  const changed = await askCredentials(server, { ...room, screen_width: 320 });
  assert.deepEqual([changed.json.code, typeof changed.json['msg']], [40903, 'string'], changed.text);
  const third = await issueCall(server, { ...room, screen_width: 240 });
  assert.equal(third.session, first.session);
  const device = await connectDevice(server, third.token);
  await device.close();
  await (await connectDevice(server, third.token)).close();
  bridge.report('ended', 'cancelled');
  await bridge.closed;
  const after = await issueCall(server, room);
  assert.notEqual(after.session, first.session, 'after the end the same room is a new session');
  await endSession(after.session);
});

/** The media process tells its counts four times a second. The runner's limit ends a wait for what never comes. */
async function scrapedUntil(wanted: RegExp): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`http://127.0.0.1:${server.ports.ops}/metrics`)).text();
    if (wanted.test(metrics)) return;
  }
}

test('a token that is not good is refused with 401, and counted by why', async () => {
  const { session, token } = await issueCall(server, aRoom());
  const [head = '', claims = '', mac = ''] = token.split('.');
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url');
  for (const bad of [`${head}.${claims}`, `${none}.${claims}.`, `${head}.${claims}.${mac.slice(2)}AA`, 'x'])
    assert.equal(await refusalOf(connectDevice(server, bad)), 401);
  for (const reason of ['malformed', 'algorithm', 'signature'])
    await scrapedUntil(new RegExp(`reveille_media_logins_total{result="${reason}"} [1-9]`));
  await endSession(session);
});

test('a person watches by a link that is good once', async () => {
  const { session, token } = await issueCall(server, aRoom());
  const device = await connectDevice(server, token);
  const answer = await opsOf(server).change('/v1/calls/ticket', { session });
  const { url } = answer as { readonly url: string };
  assert.ok(url.startsWith(mediaUrl(server, 'http')), url);
  const watching = await fetch(url);
  assert.equal(watching.status, 200);
  assert.match(watching.headers.get('content-type') ?? '', /^multipart\/x-mixed-replace/);
  assert.equal((await fetch(url)).status, 401);
  device.hangup();
  await watching.arrayBuffer();
});

test('a bridge that is revoked loses its call at once', async () => {
  const ops = opsOf(server);
  const added = (await ops.change('/v1/bridge/add', { bridge_id: 'bridge-9', app_ids: ['2818153'] })) as {
    readonly key: string;
  };
  const { session } = await issueCall(server, aRoom());
  const bridge = await connectBridge(server, { key: added.key, session });
  await bridge.next('start');
  await ops.change('/v1/bridge/revoke', { bridge_id: 'bridge-9' });
  assert.equal((await bridge.closed).code, 4401);
  assert.equal(await refusalOf(connectBridge(server, { key: added.key })), 401);
  await endSession(session);
});

test('a call of a device that is disabled ends', async () => {
  const { token } = await issueCall(server, aRoom({ device_id: 'SLEEPING02' }));
  const device = await connectDevice(server, token);
  await opsOf(server).change('/v1/device/disable', { device_id: 'SLEEPING02' });
  assert.equal((await device.closed).code, 1000);
  assert.equal(await refusalOf(connectDevice(server, token)), 401);
});

test('a call of a device that is put anew, disabled, ends too', async () => {
  const ops = opsOf(server);
  const put = { device_id: 'device-put-anew', product_id: 'doorbell' };
  await ops.change('/v1/device/add', put);
  const { token } = await issueCall(server, aRoom({ device_id: put.device_id }));
  const device = await connectDevice(server, token);
  await ops.change('/v1/device/add', { ...put, disabled: true });
  assert.equal((await device.closed).code, 1000);
});

test('issuance of another application for the same room is another session', async () => {
  const room = aRoom();
  const ours = await issueCall(server, room);
  const theirs = await askCredentials(server, room, { credential: testCredentials.other });
  assert.equal(theirs.json.code, 40302);
  await endSession(ours.session);
});
