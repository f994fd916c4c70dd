/** Calls at the real server, over real sockets: backend, device and bridge, over restarts and crashes. Source: calls-and-media.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { DeviceLeg, LegRefused } from '../../src/tools/simulator/media-leg.ts';
import {
  askCredentials,
  connectBridge,
  connectDevice,
  endCall,
  isInCall,
  issueCall,
  mediaUrl,
  msgSessionKey,
  msgSessionToken,
} from '../support/call-actions.ts';
import { metricsOf, opsOf } from '../support/driven-server.ts';
import { EventReader } from '../support/event-reader.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { noOpenssl as skip, TestCertificate } from '../support/test-certificate.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

/** Every test has its own room, and leaves no session behind. */
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

test('a call goes from issued credentials to a hangup, and all parties receive the same states', async () => {
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

/** The media process reports its counts four times a second. The limit of the test runner ends an endless wait. */
async function scrapedUntil(wanted: RegExp): Promise<void> {
  for (;;) {
    const metrics = await metricsOf(server);
    if (wanted.test(metrics)) return;
  }
}

test('an invalid token is refused with 401, and counted by its reason', async () => {
  const { session, token } = await issueCall(server, aRoom());
  const [head = '', claims = '', mac = ''] = token.split('.');
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url');
  for (const bad of [`${head}.${claims}`, `${none}.${claims}.`, `${head}.${claims}.${mac.slice(2)}AA`, 'x'])
    assert.equal(await refusalOf(connectDevice(server, bad)), 401);
  for (const reason of ['malformed', 'algorithm', 'signature'])
    await scrapedUntil(new RegExp(`reveille_media_logins_total{result="${reason}"} [1-9]`));
  await endSession(session);
});

/** Reason and time of an ended call; fails on any other answer. */
async function ended(fields: object): Promise<{ readonly reason: string; readonly ended_at: string }> {
  const { status, json, text } = await endCall(server, fields);
  assert.deepEqual([status, json.code, json.data?.['state']], [200, 0, 'ended'], text);
  return json.data as { readonly reason: string; readonly ended_at: string };
}

test('a backend ends a ringing call: both legs are notified and closed, the token is revoked, one event is written', async () => {
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

test('an orderly restart resumes the call: legs reconnect with their tokens and keys', async (t) => {
  const first = await startTestServer();
  const { session, token } = await issueCall(first);
  const [device, bridge] = [await connectDevice(first, token), await connectBridge(first, { session })];
  bridge.report('connected');
  await device.next('state');
  await first.halt();
  assert.deepEqual([(await device.closed).code, (await bridge.closed).code], [4503, 4503]);
  const second = await startTestServer({ dataDirectory: first.dataDirectory });
  t.after(() => second.stop());
  assert.equal(await isInCall(second), true);
  const back = await connectDevice(second, token);
  assert.equal((await back.next('state'))['state'], 'connected');
  const bridgeBack = await connectBridge(second, { session });
  await bridgeBack.next('start');
  bridgeBack.report('ended');
  assert.equal((await back.next('state'))['reason'], 'hangup_phone');
  assert.equal(await isInCall(second), false);
});

test('settings can make issuance require an idle bridge, offer calls late, and refuse mixed formats', async (t) => {
  const overrides = ['calls.require_bridge=true', 'calls.assign=device', 'calls.mixed_formats=refuse'];
  const server = await startTestServer({ overrides });
  t.after(() => server.stop());
  const refused = await askCredentials(server);
  assert.deepEqual([refused.status, refused.json.code], [200, 50301], refused.text);
  const bridge = await connectBridge(server);
  const mixed = await askCredentials(server, { up_video_mt: 'h264', down_video_mt: 'mjpeg' });
  assert.deepEqual([mixed.status, mixed.json.code], [200, 40003], mixed.text);
  assert.match(String(mixed.json['msg']), /^up_video_mt and down_video_mt must be the same/);
  const { session, token } = await issueCall(server, { up_video_mt: 'mjpeg', down_video_mt: 'mjpeg' });
  await bridge.ping();
  assert.equal(await isInCall(server), false);
  const assigned = bridge.acceptAssignment();
  await connectDevice(server, token);
  assert.equal((await assigned).assign.session, session);
});

interface ToldAddresses {
  readonly welcome: string | null;
  readonly issuance: string | undefined;
  readonly peerId: string | null;
  readonly token: string;
}

async function addressesFrom(server: TestServer): Promise<ToldAddresses> {
  const controller = await server.controller('TESTDEVICE01');
  const { json, text } = await askCredentials(server);
  assert.equal(json.code, 0, text);
  await controller.close();
  const { peer_id: peerId, token, media_url: issuance } = json.data as Record<string, string | undefined>;
  return {
    welcome: controller.welcome.media?.url ?? null,
    issuance,
    peerId: new URL(peerId ?? '').searchParams.get('x_media'),
    token: token ?? '',
  };
}

test('the welcome and the credentials name the media listener, and a leg needs no other address', async () => {
  const told = await addressesFrom(server);
  const url = mediaUrl(server);
  assert.deepEqual([told.welcome, told.issuance, told.peerId], [url, url, null]);
  const leg = await DeviceLeg.connect({ url: told.issuance ?? '', token: told.token });
  leg.hangup();
  await leg.closed;
});

test(
  'a media listener with a certificate is announced as wss, and a leg connects to it',
  { skip },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('first');
    const { certFile, keyFile } = certificate;
    const tls = [`media.tls_cert_file=${certFile}`, `media.tls_key_file=${keyFile}`];
    const server = await startTestServer({ overrides: [...tls, 'calls.address_in_peer_id=true'] });
    t.after(() => server.stop());
    const { token, ...told } = await addressesFrom(server);
    const url = mediaUrl(server, 'wss');
    assert.deepEqual(told, { welcome: url, issuance: url, peerId: url });
    const leg = await DeviceLeg.connect({ url, token, tls: { ca: readFileSync(certFile) } });
    leg.hangup();
    await leg.closed;
  },
);
