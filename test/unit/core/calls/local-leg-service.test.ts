import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallReport } from '../../../../src/model/call.ts';
import type { BridgeId, DeviceId, ProductId, SessionId } from '../../../../src/model/ids.ts';
import {
  callMedia,
  callOrder,
  callRoom,
  legWords,
  orderForRoom,
  progress,
} from '../../../support/call-scene.ts';
import { admitted, bridgeKey, LegServiceScene, developmentKeys } from '../../../support/leg-service-scene.ts';
import { LocalLegService } from '../../../../src/core/calls/local-leg-service.ts';
import { FakeCallLeg, otherApp, testApp } from '../../../support/fakes.ts';

const hangup: CallReport = { kind: 'end', reason: 'hangup_device' };

test('a bridge receives the room and the media of the latest request', async () => {
  const scene = new LegServiceScene();
  const bridge = await scene.openBridge();
  const { call } = await scene.newCall();
  const room = { ...callRoom, sessionToken: 'a newer one' };
  const media = { ...callMedia, downVideo: 'none' } as const;
  scene.issue(callOrder({ room, media }));
  bridge.open.answerAssignment(true);
  assert.deepEqual(bridge.leg.messages.at(-1), {
    kind: 'start',
    sessionId: call,
    room,
    request: null,
    media,
  });
});

test('a leg that connects to a call in progress is notified of its state, and resumes it', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const first = await scene.openBridge(call);
  first.open.report(progress('ringing'));
  first.open.disconnected();
  const again = await scene.openBridge(call);
  assert.deepEqual(legWords(again.leg), ['start', 'ringing']);
  const device = await scene.openDevice(token);
  assert.deepEqual(device.leg.messages, [{ kind: 'state', sessionId: call, state: 'ringing', reason: null }]);
  again.open.report(progress('connected'));
  assert.equal(scene.state(call), 'connected');
});

test('a leg that was admitted while its call moved to another media process is closed as moved', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const admissions = [
    admitted(await scene.service.admitDevice(token)),
    admitted(await scene.service.admitBridge(bridgeKey, call)),
  ] as const;
  const bridge = await scene.openBridge(call);
  const legs = [new FakeCallLeg(1), new FakeCallLeg(1)] as const;
  assert.equal(scene.service.openDeviceLeg(admissions[0], legs[0]), null);
  assert.equal(scene.service.openBridgeLeg(admissions[1], legs[1]), null);
  for (const leg of legs) assert.deepEqual(leg.closes, ['moved']);
  assert.deepEqual(bridge.leg.closes, []);
});

test('a report of an idle bridge is stray, and its frames renew no lease', async () => {
  const scene = new LegServiceScene();
  const { open } = await scene.openBridge();
  open.report(progress('ringing'));
  open.alive('media');
  assert.equal(scene.telemetry.count('call report stray'), 1);
  assert.equal(scene.service.counts().idle_bridge, 1);
});

test('a closed leg is not notified again, and is closed once', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const [device, bridge] = [await scene.openDevice(token), await scene.openBridge(call)];
  scene.directory.end(call, 'cancelled');
  device.open.disconnected();
  bridge.open.disconnected();
  scene.service.drain();
  assert.deepEqual(legWords(device.leg), ['ended cancelled', 'closed ended']);
  assert.deepEqual(legWords(bridge.leg), ['start', 'ended cancelled', 'closed ended']);
});

const revocations: { name: string; change: (scene: LegServiceScene) => void }[] = [
  { name: 'is revoked', change: (scene) => scene.addBridge({ revoked: true }) },
  { name: 'is removed', change: (scene) => scene.removeBridge('bridge-1') },
  { name: 'has another key', change: (scene) => scene.addBridge({ key: 'a new key' }) },
];
for (const { name, change } of revocations) {
  test(`a bridge that ${name} between admission and opening is not opened`, async () => {
    const scene = new LegServiceScene();
    const { call } = await scene.newCall();
    for (const session of [null, call]) {
      const admission = admitted(await scene.service.admitBridge(bridgeKey, session));
      change(scene);
      assert.equal(scene.service.openBridgeLeg(admission, new FakeCallLeg()), null);
      scene.addBridge({});
    }
    assert.equal(scene.service.counts().idle_bridge, 0);
  });

  test(`a bridge that ${name} is closed, idle or in a call, and the call is offered to another`, async () => {
    const scene = new LegServiceScene();
    scene.addBridge({ bridgeId: 'bridge-2' as BridgeId, key: 'key of bridge-2' });
    const { call } = await scene.newCall();
    const busy = await scene.openBridge(call);
    const idle = await scene.openBridge();
    const other = await scene.openBridge(null, 'key of bridge-2');
    change(scene);
    scene.service.registryChanged();
    assert.deepEqual([busy.leg.closes, idle.leg.closes, other.leg.closes], [['revoked'], ['revoked'], []]);
    assert.deepEqual(other.leg.messages, [{ kind: 'assign', sessionId: call, media: callMedia }]);
    assert.deepEqual(scene.service.counts(), { device: 0, bridge: 0, idle_bridge: 1, viewer: 0 });
  });
}

test('a bridge that loses an application is closed in a call of it, and continues in a call of another', async () => {
  const scene = new LegServiceScene();
  scene.addBridge({ appIds: [testApp, otherApp] });
  const { call: mine } = await scene.newCall();
  const { call: foreign } = await scene.newCall(callOrder({ appId: otherApp, deviceId: 'D2' as DeviceId }));
  const [inMine, inForeign] = [await scene.openBridge(mine), await scene.openBridge(foreign)];
  scene.addBridge({ appIds: [testApp] });
  scene.service.registryChanged();
  assert.deepEqual([inMine.leg.closes, inForeign.leg.closes], [[], ['revoked']]);
});

test('an application lost between admission and opening leaves its session unopened', async () => {
  const scene = new LegServiceScene();
  const { call } = await scene.newCall();
  const admission = admitted(await scene.service.admitBridge(bridgeKey, call));
  scene.addBridge({ appIds: [otherApp] });
  assert.equal(scene.service.openBridgeLeg(admission, new FakeCallLeg()), null);
  assert.equal(scene.service.counts().bridge, 0);
});

test('an idle bridge whose applications change stays, and is asked about calls of the new ones', async () => {
  const scene = new LegServiceScene();
  const { leg } = await scene.openBridge();
  scene.addBridge({ appIds: [otherApp] });
  scene.service.registryChanged();
  await scene.newCall();
  assert.deepEqual([legWords(leg), scene.pool.hasIdleFor(otherApp)], [[], true]);
  await scene.newCall(callOrder({ appId: otherApp }));
  assert.deepEqual(legWords(leg), ['assign']);
});

test('an unrelated change of the registry leaves a bridge its place and its question', async () => {
  const scene = new LegServiceScene();
  const bridge = await scene.openBridge();
  const { call } = await scene.newCall();
  scene.service.registryChanged();
  bridge.open.answerAssignment(true);
  assert.deepEqual(legWords(bridge.leg), ['assign', 'start']);
  scene.service.registryChanged();
  assert.deepEqual([bridge.leg.closes, scene.state(call)], [[], 'establishing']);
});

test('a bridge with a development key is not the registry’s to revoke', async () => {
  const scene = new LegServiceScene();
  const { leg } = await scene.openBridge(null, developmentKeys[1]);
  scene.removeBridge('bridge-1');
  scene.service.registryChanged();
  assert.deepEqual(leg.closes, []);
});

test('an unreadable registry after a change closes no leg, and is logged', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const legs = [await scene.openBridge(), await scene.openBridge(call), await scene.openDevice(token)];
  const admission = admitted(await scene.service.admitBridge(bridgeKey, null));
  scene.registry.failure = new Error('the store cannot be read');
  scene.service.registryChanged();
  assert.deepEqual(
    legs.map(({ leg }) => leg.closes),
    [[], [], []],
  );
  assert.deepEqual(
    scene.log.lines.map(({ message }) => message),
    [
      'bridges: rights not re-checked: registry unreadable; a revoked bridge may stay connected',
      'sessions and calls: not checked after a registry change: registry unreadable',
    ],
  );
  assert.equal(scene.service.openBridgeLeg(admission, new FakeCallLeg()), null, 'and nobody is opened');
});

test('the calls of a disabled or deleted device end as error', async () => {
  const scene = new LegServiceScene();
  const [kept, disabled, removed] = ['D1', 'D2', 'D3'].map((id) => {
    const deviceId = id as DeviceId;
    scene.registry.addDevice({ deviceId });
    return scene.issue(callOrder({ deviceId }));
  }) as [SessionId, SessionId, SessionId];
  const device = await scene.openDevice(scene.token(disabled));
  scene.registry.addDevice({ deviceId: 'D2' as DeviceId, disabled: true });
  scene.registry.devices.delete('D3');
  scene.service.registryChanged();
  assert.deepEqual(
    [kept, disabled, removed].map((call) => scene.state(call)),
    ['issued', null, null],
  );
  assert.deepEqual(legWords(device.leg), ['ended error', 'closed ended']);
  assert.deepEqual(scene.callEvents(removed), ['ended error']);
});

const lostRights: readonly { name: string; change: (scene: LegServiceScene) => unknown }[] = [
  { name: 'has expired', change: ({ registry }) => registry.addDevice({ expiresAt: 1 }) },
  { name: 'has another secret', change: ({ registry }) => registry.addDevice({ secret: 'another secret' }) },
  {
    name: "is another application's by its product",
    change: ({ registry }) =>
      registry.products.set('doorbell', { productId: 'doorbell' as ProductId, appIds: [otherApp] }),
  },
  { name: 'is of a product that is gone', change: ({ registry }) => registry.products.clear() },
];
for (const { name, change } of lostRights)
  test(`the call of a device that ${name} ends as error, with its legs`, async () => {
    const scene = new LegServiceScene();
    const { call, token } = await scene.newCall();
    const legs = [(await scene.openDevice(token)).leg, (await scene.openBridge(call)).leg];
    change(scene);
    scene.service.registryChanged();
    assert.equal(scene.state(call), null);
    for (const leg of legs) assert.deepEqual(legWords(leg).slice(-2), ['ended error', 'closed ended']);
  });

test('a call that is issued after the change of a secret stays, as does one that a restart resumed', async () => {
  const scene = new LegServiceScene();
  const resumed = scene.issue(orderForRoom('room-1'));
  scene.restart();
  const service = new LocalLegService(scene);
  scene.registry.addDevice({ secret: 'another secret' });
  service.registryChanged();
  const issued = scene.issue(orderForRoom('room-2'));
  scene.clock.advance(1000);
  service.registryChanged();
  assert.deepEqual([scene.state(resumed), scene.state(issued)], ['issued', 'issued']);
  scene.clock.advance(1000);
  scene.registry.addDevice({ secret: 'a third secret' });
  service.registryChanged();
  assert.deepEqual([scene.state(resumed), scene.state(issued)], [null, null]);
});

test('a viewer with a ticket is notified of states, changes nothing, and is closed at the end', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const viewer = await scene.openViewer(call);
  const device = await scene.openDevice(token);
  device.open.report(progress('attempting'));
  assert.deepEqual(viewer.leg.messages, [
    { kind: 'state', sessionId: call, state: 'establishing', reason: null },
    { kind: 'state', sessionId: call, state: 'attempting', reason: null },
  ]);
  device.open.report(hangup);
  assert.deepEqual(legWords(viewer.leg).slice(2), ['ended hangup_device', 'closed ended']);
  viewer.open.disconnected();
  assert.deepEqual(scene.service.counts(), { device: 0, bridge: 0, idle_bridge: 0, viewer: 0 });
});

test('viewers of one call do not watch another', async () => {
  const scene = new LegServiceScene();
  const [first, second] = ['D1', 'D2'].map((id) => scene.issue(callOrder({ deviceId: id as DeviceId })));
  assert.ok(first !== undefined && second !== undefined);
  const watching = [await scene.openViewer(first), await scene.openViewer(first)];
  const other = await scene.openViewer(second);
  scene.directory.end(second, 'cancelled');
  assert.deepEqual(other.leg.closes, ['ended']);
  assert.deepEqual(
    watching.map(({ leg }) => legWords(leg)),
    [[], []],
  );
});
