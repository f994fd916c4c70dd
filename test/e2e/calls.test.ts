/** Calls at the real server, over real sockets: backend, device and bridge. Source: calls-and-media.md. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LegRefused } from '../../src/tools/simulator/media-leg.ts';
import {
  connectBridge,
  connectDevice,
  isInCall,
  issueCall,
  mediaUrl,
  msgSessionKey,
  msgSessionToken,
} from '../support/call-actions.ts';
import { metricsOf, opsOf } from '../support/driven-server.ts';
import { EventReader } from '../support/event-reader.ts';
import { startTestServer, testBridgeKeys, type TestServer } from '../support/test-server.ts';

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

/** The media process tells its counts four times a second. The runner's limit ends a wait for what never comes. */
async function scrapedUntil(wanted: RegExp): Promise<void> {
  for (;;) {
    const metrics = await metricsOf(server);
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
