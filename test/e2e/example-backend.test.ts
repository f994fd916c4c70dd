/**
 * The whole story of a call, over real sockets: a phone of the messaging app, the example backend, the server, a device
 * that sleeps, and a bridge.
 */
import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import type { BackendSettings } from '../../docs/examples/backend/settings.ts';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { phoneCall, pushSecrets, startBackendScene, type BackendScene } from '../support/example-backend.ts';
import { startTestServer, testBridgeKeys, type TestServer } from '../support/test-server.ts';

const ringing = { status: 200, text: '{"errcode":0,"errmsg":"ok"}' };
const busy = { status: 200, text: '{"errcode":1,"errmsg":"busy"}' };
const refused = { status: 200, text: '{"errcode":2,"errmsg":"refused"}' };

/** A doorbell with a small screen, as it reports itself. */
const doorbell = {
  up_video_mt: 'h264',
  down_video_mt: 'mjpeg',
  screen_width: 160,
  screen_height: 100,
  video_res_mode: 'fit_screen',
  audio_rate: 16_000,
  audio_channels: 1,
};

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

/** A backend of the test's own. */
async function stage(t: TestContext, settings: Partial<BackendSettings> = {}): Promise<BackendScene> {
  const scene = await startBackendScene(server, settings);
  t.after(() => scene.backend.stop());
  return scene;
}

/** What the device was told to join with. */
async function joinOf(controller: SignalController): Promise<{ peer_id: string; token: string }> {
  const { name, payload } = await controller.nextMessage();
  assert.equal(name, 'msga_join_voip_room');
  assert.equal(payload['calling_timeout_sec'], 30);
  return payload as { peer_id: string; token: string };
}

function bridge(): Promise<BridgeLeg> {
  return BridgeLeg.connect({ url: mediaUrl(), key: testBridgeKeys.own });
}

function mediaUrl(): string {
  return `ws://127.0.0.1:${server.ports.media}`;
}

/** Ends the call, which would else be the next test's to find. */
async function hangUp(token: string): Promise<void> {
  const leg = await DeviceLeg.connect({ url: mediaUrl(), token });
  leg.hangup();
  await leg.closed;
}

async function isInCall(device: string): Promise<unknown> {
  const query = `device_id=${device}`;
  const { json } = await server.api.call({ path: '/v1/device/msgvoip-call-status', query });
  return json.data?.['in_call'];
}

test('a phone calls a device that sleeps: woken, told, connected, and ended by the phone', async (t) => {
  const { app, steps } = await stage(t);
  const device = 'SLEEPING01';
  const call = phoneCall(device);
  // It has reported what it can show when it signed in the last time.
  await (await server.controller(device, { media: doorbell })).close();
  const [module, leg] = await Promise.all([server.module(device), bridge()]);

  // The platform has its answer while the device still sleeps: it is woken by what follows.
  assert.deepEqual(await app.push(call), ringing);
  await module.nextPacket();
  const controller = await server.controller(device, { media: doorbell, autoAcknowledge: true });
  const { peer_id, token } = await joinOf(controller);
  const room = new URL(peer_id).searchParams;
  assert.deepEqual(
    [
      room.get('x_msg_app_id'),
      room.get('x_msg_model_id'),
      room.get('x_msg_room_id'),
      room.get('x_device_id'),
    ],
    [pushSecrets.appId, call.modelId, call.roomId, device],
  );

  const { start } = await leg.acceptAssignment();
  assert.deepEqual(start.room, {
    app_id: pushSecrets.appId,
    model_id: call.modelId,
    room_id: call.roomId,
    session_key: call.sessionKey,
    session_token: call.serverToken,
  });
  assert.deepEqual(start.request, { width: 320, height: 240, rotation: 0, max_fps: 15 });
  assert.deepEqual([start.audio.rate, start.payload], [16_000, call.payload]);

  const deviceLeg = await DeviceLeg.connect({ url: mediaUrl(), token });
  leg.report('ringing');
  await deviceLeg.until((text) => text['state'] === 'ringing');
  deviceLeg.accept();
  await leg.until((text) => text['state'] === 'attempting');
  leg.report('connected');
  await deviceLeg.until((text) => text['state'] === 'connected');
  assert.equal(await isInCall(device), true);

  // Another phone finds it busy, and does not ring.
  assert.deepEqual(await app.push(phoneCall(device)), busy);

  leg.report('ended', 'hangup_phone');
  assert.equal((await deviceLeg.closed).code, 1000);
  assert.equal(await isInCall(device), false);
  const ended = await steps.until(({ step }) => step === 'call.ended');
  assert.deepEqual([ended['session'], ended['reason']], [room.get('x_session'), 'hangup_phone']);

  const expected = ['push.received', 'credentials.issued', 'device.woken', 'call.delivered'];
  const names = steps.of(call.roomId).map(({ step }) => step);
  assert.deepEqual(
    names.filter((step) => step !== 'message.refused'),
    expected,
  );
  await Promise.all([controller.close(), module.close(), leg.close()]);
});

test('a device that was online before the backend is called with what it reported then', async (t) => {
  const device = 'SLEEPING02';
  const controller = await server.controller(device, { media: doorbell, autoAcknowledge: true });
  const { app, steps } = await stage(t);
  const leg = await bridge();
  const call = phoneCall(device);
  assert.deepEqual(await app.push(call), ringing);
  const { token } = await joinOf(controller);
  assert.equal((await leg.acceptAssignment()).start.request?.width, 320);
  await steps.untilEnd(call.roomId);
  const names = steps.of(call.roomId).map(({ step }) => step);
  assert.deepEqual(names, ['push.received', 'credentials.issued', 'call.delivered']);
  await hangUp(token);
  await Promise.all([controller.close(), leg.close()]);
});

test('a device that reports nothing is called with the default', async (t) => {
  const { app } = await stage(t);
  const device = 'TESTDEVICE01';
  const leg = await bridge();
  const controller = await server.controller(device, { autoAcknowledge: true });
  await app.push(phoneCall(device));
  const { token } = await joinOf(controller);
  assert.equal((await leg.acceptAssignment()).start.request, null, 'audio only');
  await hangUp(token);
  await Promise.all([controller.close(), leg.close()]);
});

test('a phone that calls a device which is not ours to call does not ring', async (t) => {
  const { app, steps } = await stage(t);
  const codes: Readonly<Record<string, number>> = { NOBODY01: 40403, FOREIGN01: 40302, EXPIRED01: 40304 };
  for (const [device, code] of Object.entries(codes)) {
    const call = phoneCall(device);
    assert.deepEqual(await app.push(call), refused);
    assert.deepEqual(
      steps.of(call.roomId).map(({ step, fields }) => [step, fields['code']]),
      [
        ['push.received', undefined],
        ['call-status.refused', code],
      ],
    );
  }
});

test('what is not signed, or not encrypted with our key, starts nothing', async (t) => {
  const { app, steps } = await stage(t);
  const call = phoneCall('TESTDEVICE01');
  assert.equal((await app.push(call, { signature: '0'.repeat(40) })).status, 401);
  assert.equal((await app.push(call, { encodingAesKey: 'B'.repeat(43) })).status, 400);
  assert.deepEqual(steps.of(call.roomId), []);
});

test('a push that comes three times at once, and again afterwards, calls once', async (t) => {
  const { app, steps } = await stage(t);
  const device = 'SLEEPING01';
  const call = phoneCall(device);
  const module = await server.module(device);
  const answers = [app.push(call), app.push(call), app.push(call)];
  await module.nextPacket();
  const controller = await server.controller(device, { autoAcknowledge: true });
  const { token } = await joinOf(controller);
  await steps.untilEnd(call.roomId);
  assert.deepEqual(await Promise.all([...answers, app.push(call)]), [ringing, ringing, ringing, ringing]);
  const count = (step: string): number => steps.of(call.roomId, step).length;
  assert.deepEqual([count('push.received'), count('push.repeated')], [1, 3]);
  assert.deepEqual([count('device.woken'), count('credentials.issued'), count('call.delivered')], [1, 1, 1]);
  await hangUp(token);
  await Promise.all([controller.close(), module.close()]);
});

test('a push that is repeated for a call that was refused is refused again', async (t) => {
  const { app, steps } = await stage(t);
  const call = phoneCall('NOBODY01');
  const answers = await Promise.all([app.push(call), app.push(call)]);
  assert.deepEqual([...answers, await app.push(call)], [refused, refused, refused]);
  assert.equal(steps.of(call.roomId, 'call-status.refused').length, 1);
});

test('a device without any connection cannot be called', async (t) => {
  const { app, steps } = await stage(t);
  const call = phoneCall('SLEEPING02');
  assert.deepEqual(await app.push(call), ringing);
  assert.equal((await steps.untilEnd(call.roomId))['reason'], 'not_delivered');
  assert.deepEqual(
    steps.of(call.roomId, 'message.refused').map(({ fields }) => fields['code']),
    [40412, 40412, 40412],
  );
});

test('a device that is woken and does not come is given up when the time of the call is over', async (t) => {
  const { app, steps } = await stage(t, { callMsMax: 200 });
  const device = 'SLEEPING02';
  const call = phoneCall(device);
  const module = await server.module(device);
  assert.deepEqual(await app.push(call), ringing);
  await module.nextPacket();
  assert.equal((await steps.untilEnd(call.roomId))['reason'], 'time_over');
  assert.equal(steps.of(call.roomId, 'call.delivered').length, 0);
  await module.close();
});

test('a backend that is stopped lets the call it has come to its end, and takes no other', async (t) => {
  const { backend, app, steps } = await stage(t);
  const device = 'SLEEPING02';
  const call = phoneCall(device);
  const module = await server.module(device);
  assert.deepEqual(await app.push(call), ringing);
  await module.nextPacket();
  const stopped = backend.stop();
  await assert.rejects(app.push(phoneCall(device)));
  const controller = await server.controller(device, { autoAcknowledge: true });
  const { token } = await joinOf(controller);
  await stopped;
  assert.equal(steps.of(call.roomId, 'call.delivered').length, 1);
  await hangUp(token);
  await Promise.all([controller.close(), module.close()]);
});

test('no key and no token is in what the backend or the server says', async (t) => {
  const { app, steps } = await stage(t);
  const device = 'SLEEPING01';
  const call = phoneCall(device);
  const module = await server.module(device);
  await app.push(call);
  await module.nextPacket();
  const controller = await server.controller(device, { autoAcknowledge: true });
  const { peer_id, token } = await joinOf(controller);
  await steps.untilEnd(call.roomId);
  await app.push(call, { signature: '0'.repeat(40) });
  const said = JSON.stringify([steps.all, server.log.lines]);
  assert.match(said, /call\.delivered.*push\.refused/);
  assert.doesNotMatch(said, /planted/);
  assert.doesNotMatch(peer_id, /planted/);
  assert.ok(!said.includes(token));
  await hangUp(token);
  await Promise.all([controller.close(), module.close()]);
});
