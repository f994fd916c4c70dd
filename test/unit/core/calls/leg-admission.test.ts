import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenId, BridgeId } from '../../../../src/model/ids.ts';
import { callMedia, callOrder } from '../../../support/call-scene.ts';
import {
  admitted,
  LegServiceScene,
  refusal,
  bridgeKey,
  developmentKeys,
} from '../../../support/leg-service-scene.ts';
import { testDevice, otherApp, testApp } from '../../../support/fakes.ts';
import { createHash } from 'node:crypto';
import { BridgeKeys } from '../../../../src/core/calls/leg-admission.ts';

test('a device with the token of its call is admitted, and nothing changes', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const admission = admitted(await scene.service.admitDevice(token));
  const tokenId = 'issued-token-1' as TokenId;
  assert.deepEqual(admission, {
    sessionId: call,
    appId: testApp,
    deviceId: testDevice,
    tokenId,
    media: callMedia,
  });
  assert.equal(scene.state(call), 'issued');
  assert.deepEqual(scene.callEvents(call), []);
});

test('a token is valid for its first connect before its expiry, and not at it', async () => {
  const scene = new LegServiceScene();
  const { call } = await scene.newCall();
  const expiresAtS = Math.floor(scene.clock.wallMs() / 1000) + 10;
  const token = scene.token(call, { expiresAtS });
  scene.clock.advance(9_999);
  assert.equal(await refusal(scene.service.admitDevice(token)), null);
  scene.clock.advance(1);
  assert.equal(await refusal(scene.service.admitDevice(token)), 'expired');
});

test('a token that has connected may reconnect after its expiry while its call lives', async () => {
  const scene = new LegServiceScene();
  const { call } = await scene.newCall();
  const expiresAtS = Math.floor(scene.clock.wallMs() / 1000) + 10;
  const [used, unused] = [scene.token(call, { expiresAtS }), scene.token(call, { expiresAtS })];
  const { open } = await scene.openDevice(used);
  open.disconnected();
  scene.clock.advance(20_000);
  assert.equal(await refusal(scene.service.admitDevice(used)), null);
  assert.equal(await refusal(scene.service.admitDevice(unused)), 'expired');
  scene.directory.end(call, 'cancelled');
  assert.equal(await refusal(scene.service.admitDevice(used)), 'expired');
});

test('the end of a call revokes its tokens, also unexpired ones', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  await scene.openDevice(token);
  scene.directory.end(call, 'cancelled');
  assert.equal(await refusal(scene.service.admitDevice(token)), 'session_ended');
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
    (await scene.openDevice(token)).open.disconnected();
    change(scene);
    assert.equal(await refusal(scene.service.admitDevice(token)), 'device');
  });

test('an unreadable registry admits no device, and the log has the error without the token', async () => {
  const scene = new LegServiceScene();
  const { token } = await scene.newCall();
  scene.registry.failure = new Error('the store cannot be read');
  assert.equal(await refusal(scene.service.admitDevice(token)), 'unavailable');
  assert.deepEqual(scene.log.lines, [
    {
      level: 'error',
      fields: { err: scene.registry.failure },
      message: 'media leg: not admitted: registry unreadable',
    },
  ]);
  scene.registry.failure = null;
  assert.equal(await refusal(scene.service.admitDevice(token)), null);
});

function sha256(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'utf8')).digest('hex');
}

test('a bridge of the registry is admitted by its key', async () => {
  const scene = new LegServiceScene();
  scene.addBridge({ appIds: [testApp, otherApp] });
  assert.deepEqual(admitted(await scene.service.admitBridge(bridgeKey, null)), {
    bridgeId: 'bridge-1',
    keySha256: sha256(bridgeKey),
    sessionId: null,
  });
});

test('a key is hashed as UTF-8', async () => {
  const scene = new LegServiceScene();
  scene.addBridge({ bridgeId: 'b-2' as BridgeId, keySha256: sha256('clé-✓') });
  assert.equal(admitted(await scene.service.admitBridge('clé-✓', null)).bridgeId, 'b-2');
});

for (const [index, key] of developmentKeys.entries())
  test(`development key ${index + 1} makes a bridge`, async () => {
    const scene = new LegServiceScene();
    assert.deepEqual(admitted(await scene.service.admitBridge(key, null)), {
      bridgeId: `dev-${index + 1}`,
      keySha256: sha256(key),
      sessionId: null,
    });
  });

const badKeys: { name: string; key: string }[] = [
  { name: 'a guessed key', key: 'guessed' },
  { name: 'a key with something behind it', key: `${bridgeKey} ` },
  { name: 'the hash in place of the key', key: sha256(bridgeKey) },
  { name: 'the beginning of a development key', key: 'a development' },
];
for (const { name, key } of badKeys)
  test(`${name} is refused`, async () => {
    const scene = new LegServiceScene();
    assert.equal(await refusal(scene.service.admitBridge(key, null)), 'bridge_key');
  });

test('an empty key is refused, even if the registry has the hash of nothing', async () => {
  const scene = new LegServiceScene();
  scene.addBridge({ bridgeId: 'careless' as BridgeId, key: '' });
  assert.equal(await refusal(scene.service.admitBridge('', null)), 'bridge_key');
});

test('a revoked bridge is refused, whatever session it names', async () => {
  const scene = new LegServiceScene();
  const { call } = await scene.newCall();
  scene.addBridge({ revoked: true });
  assert.equal(await refusal(scene.service.admitBridge(bridgeKey, null)), 'bridge_key');
  assert.equal(await refusal(scene.service.admitBridge(bridgeKey, call)), 'bridge_key');
});

test('bridges that share a key serve the applications of all that are not revoked', () => {
  const scene = new LegServiceScene();
  scene.addBridge({ bridgeId: 'b-0' as BridgeId, revoked: true, appIds: [otherApp] });
  const rightsOf = (): readonly string[] | null | undefined =>
    new BridgeKeys(scene.registry, []).rightsOf(sha256(bridgeKey))?.appIds;
  assert.deepEqual(rightsOf(), [testApp]);
  scene.addBridge({ bridgeId: 'b-0' as BridgeId, appIds: [otherApp] });
  assert.deepEqual(rightsOf()?.toSorted(), [testApp, otherApp].toSorted());
});

test('a bridge may connect for a live session of its application', async () => {
  const scene = new LegServiceScene();
  const { call } = await scene.newCall();
  assert.equal(admitted(await scene.service.admitBridge(bridgeKey, call)).sessionId, call);
  assert.equal(scene.state(call), 'issued', 'nothing is changed by that');
});

test('a session that does not exist, has ended, or belongs to another application is unknown', async () => {
  const scene = new LegServiceScene();
  const { call: foreign } = await scene.newCall(callOrder({ appId: otherApp }));
  const { call: ended } = await scene.newCall();
  scene.directory.end(ended, 'cancelled');
  for (const session of ['', 'no-such-session', '__proto__', ended, foreign])
    assert.equal(await refusal(scene.service.admitBridge(bridgeKey, session)), 'unknown_session');
  assert.equal(await refusal(scene.service.admitBridge(developmentKeys[0] ?? '', foreign)), null);
});

test('an unreadable registry admits no bridge of it, and the log has the error without the key', async () => {
  const scene = new LegServiceScene();
  scene.registry.failure = new Error('the store cannot be read');
  assert.equal(await refusal(scene.service.admitBridge(bridgeKey, null)), 'unavailable');
  assert.equal(scene.log.lines.length, 1);
  assert.ok(!JSON.stringify(scene.log.lines).includes(bridgeKey));
  assert.equal(await refusal(scene.service.admitBridge(developmentKeys[0] ?? '', null)), null);
});

test('a leg whose call is at another member is refused with the media_url there, if it may access the call', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  scene.directory.end(call, 'lost');
  const mediaUrl = 'wss://node-b.example:8083';
  scene.callLocator.findElsewhere = async (sessionId) =>
    sessionId === call ? { appId: testApp, mediaUrl } : null;
  const refused = { ok: false, error: { mediaUrl } };
  assert.deepEqual(await scene.service.admitDevice(token), refused);
  assert.deepEqual(await scene.service.admitBridge(bridgeKey, call), refused);
  scene.addBridge({ appIds: [otherApp] });
  assert.equal(await refusal(scene.service.admitBridge(bridgeKey, call)), 'unknown_session');
});
