import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LegRefusal } from '../../../../src/model/call.ts';
import type { DeviceId, SessionId, TokenId } from '../../../../src/model/ids.ts';
import { callMedia } from '../../../support/call-scene.ts';
import { base64url, craftToken, goodHeader, goodPayload, strangeKey } from '../../../support/call-tokens.ts';
import { admitted, LegServiceScene, refusal } from '../../../support/leg-service-scene.ts';
import { testDevice } from '../../../support/fakes.ts';

const other = 'OTHER' as DeviceId;

test('a device with the token of its call is let in, and nothing is changed by that', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const admission = admitted(await scene.service.admitDevice(token));
  const tokenId = 'issued-token-1' as TokenId;
  assert.deepEqual(admission, { sessionId: call, deviceId: testDevice, tokenId, media: callMedia });
  assert.equal(scene.state(call), 'issued');
  assert.deepEqual(scene.told(call), []);
});

/** What a token shows by itself is judged by call-token; here, that it is passed on. */
const badTokens: [token: string, refusal: LegRefusal][] = [
  ['', 'malformed'],
  ['x'.repeat(5000), 'malformed'],
  [`${base64url({ alg: 'none', typ: 'JWT' })}.${base64url(goodPayload)}.`, 'algorithm'],
  [craftToken({ ...goodHeader, kid: strangeKey.kid }, goodPayload, strangeKey), 'unknown_key'],
  [craftToken(goodHeader, goodPayload, strangeKey), 'signature'],
  [craftToken(goodHeader, { ...goodPayload, iss: 'somebody' }), 'issuer'],
  [craftToken(goodHeader, { ...goodPayload, aud: 'another' }), 'audience'],
];
for (const [token, reason] of badTokens)
  test(`a token is refused as ${reason}: ${token.slice(0, 20)}`, async () => {
    const scene = new LegServiceScene();
    assert.equal(await refusal(scene.service.admitDevice(token)), reason);
    assert.deepEqual(scene.log.lines, []);
  });

test('a token is good for its first connect until its time, and not at it', async () => {
  const scene = new LegServiceScene();
  const { call } = await scene.newCall();
  const expiresAtS = Math.floor(scene.clock.wallMs() / 1000) + 10;
  const token = await scene.token(call, { expiresAtS });
  scene.clock.advance(9_999);
  assert.equal(await refusal(scene.service.admitDevice(token)), null);
  scene.clock.advance(1);
  assert.equal(await refusal(scene.service.admitDevice(token)), 'expired');
});

test('a token that has connected may reconnect after its time, while its call lives', async () => {
  const scene = new LegServiceScene();
  const { call } = await scene.newCall();
  const expiresAtS = Math.floor(scene.clock.wallMs() / 1000) + 10;
  const [used, unused] = [await scene.token(call, { expiresAtS }), await scene.token(call, { expiresAtS })];
  const { open } = await scene.openDevice(used);
  open.gone();
  scene.clock.advance(20_000);
  assert.equal(await refusal(scene.service.admitDevice(used)), null);
  assert.equal(await refusal(scene.service.admitDevice(unused)), 'expired');
  scene.directory.end(call, 'cancelled');
  assert.equal(await refusal(scene.service.admitDevice(used)), 'expired');
});

test('the end of a call revokes its tokens, those in time too', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  await scene.openDevice(token);
  scene.directory.end(call, 'cancelled');
  assert.equal(await refusal(scene.service.admitDevice(token)), 'session_ended');
});

test('a token of a session that never was is refused like one of an ended session', async () => {
  const scene = new LegServiceScene();
  const { call } = await scene.newCall();
  const token = await scene.token(call, { sessionId: 'no-such-session' as SessionId });
  assert.equal(await refusal(scene.service.admitDevice(token)), 'session_ended');
});

test('a token for another device than the session’s is refused', async () => {
  const scene = new LegServiceScene();
  scene.registry.addDevice({ deviceId: other });
  const { call } = await scene.newCall();
  const token = await scene.token(call, { deviceId: other });
  assert.equal(await refusal(scene.service.admitDevice(token)), 'device');
});

const unwelcome: { name: string; change: (scene: LegServiceScene) => void }[] = [
  { name: 'missing', change: ({ registry }) => void registry.devices.delete(testDevice) },
  { name: 'disabled', change: ({ registry }) => void registry.addDevice({ disabled: true }) },
  { name: 'expired', change: ({ registry }) => void registry.addDevice({ expiresAt: 1 }) },
];
for (const { name, change } of unwelcome)
  test(`a device that is ${name} in the registry is refused, on a reconnect too`, async () => {
    const scene = new LegServiceScene();
    const { token } = await scene.newCall();
    (await scene.openDevice(token)).open.gone();
    change(scene);
    assert.equal(await refusal(scene.service.admitDevice(token)), 'device');
  });

test('a registry that cannot be read lets nobody in, and says so in the log without the token', async () => {
  const scene = new LegServiceScene();
  const { token } = await scene.newCall();
  scene.registry.failure = new Error('the store cannot be read');
  assert.equal(await refusal(scene.service.admitDevice(token)), 'unavailable');
  assert.deepEqual(scene.log.lines, [
    { level: 'error', fields: { err: scene.registry.failure }, message: 'media legs cannot be judged' },
  ]);
  scene.registry.failure = null;
  assert.equal(await refusal(scene.service.admitDevice(token)), null);
});
