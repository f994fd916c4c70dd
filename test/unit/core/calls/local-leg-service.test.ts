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

test('a bridge is told the room and the media of the latest request', async () => {
  const scene = new LegServiceScene();
  const bridge = await scene.openBridge();
  const { call } = await scene.newCall();
  const room = { ...callRoom, sessionToken: 'a newer one' };
  const media = { ...callMedia, downVideo: 'none' } as const;
  scene.issue(callOrder({ room, media }));
  bridge.open.answerAssignment(true);
  assert.deepEqual(bridge.leg.told.at(-1), { kind: 'start', sessionId: call, room, request: null, media });
});

test('a leg that comes to a call which has moved on is told how far it is, and takes it up again', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const first = await scene.openBridge(call);
  first.open.report(progress('ringing'));
  first.open.gone();
  const again = await scene.openBridge(call);
  assert.deepEqual(legWords(again.leg), ['start', 'ringing']);
  const device = await scene.openDevice(token);
  assert.deepEqual(device.leg.told, [{ kind: 'state', sessionId: call, state: 'ringing', reason: null }]);
  again.open.report(progress('connected'));
  assert.equal(scene.state(call), 'connected');
});

test('a leg that was let in while its call went to another media process is closed as moved', async () => {
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

test('a report of an idle bridge is stray, and a frame of one renews nothing', async () => {
  const scene = new LegServiceScene();
  const { open } = await scene.openBridge();
  open.report(progress('ringing'));
  open.alive('media');
  assert.equal(scene.telemetry.count('call report stray'), 1);
  assert.equal(scene.service.counts().idle_bridge, 1);
});

test('a leg that was closed is told nothing more, and closed once', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const [device, bridge] = [await scene.openDevice(token), await scene.openBridge(call)];
  scene.directory.end(call, 'cancelled');
  device.open.gone();
  bridge.open.gone();
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
  test(`a bridge that ${name} between being let in and opening is not opened`, async () => {
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
    assert.deepEqual(other.leg.told, [{ kind: 'assign', sessionId: call, media: callMedia }]);
    assert.deepEqual(scene.service.counts(), { device: 0, bridge: 0, idle_bridge: 1, viewer: 0 });
  });
}

test('a bridge that loses an application is closed in a call of it, and goes on in a call of another', async () => {
  const scene = new LegServiceScene();
  scene.addBridge({ appIds: [testApp, otherApp] });
  const { call: mine } = await scene.newCall();
  const { call: foreign } = await scene.newCall(callOrder({ appId: otherApp, deviceId: 'D2' as DeviceId }));
  const [inMine, inForeign] = [await scene.openBridge(mine), await scene.openBridge(foreign)];
  scene.addBridge({ appIds: [testApp] });
  scene.service.registryChanged();
  assert.deepEqual([inMine.leg.closes, inForeign.leg.closes], [[], ['revoked']]);
});

test('an application lost between being let in and opening leaves its session unopened', async () => {
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

test('a change of the registry that is about others leaves a bridge its place and its question', async () => {
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

test('a registry that cannot be read after a change closes nobody, and says so', async () => {
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
      'cannot read which bridges are revoked',
      'cannot re-check sessions and calls after a registry change: registry unreadable',
    ],
  );
  assert.equal(scene.service.openBridgeLeg(admission, new FakeCallLeg()), null, 'and nobody is opened');
});

test('the calls of a device that is disabled, or not there any more, end as error', async () => {
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
  assert.deepEqual(scene.told(removed), ['ended error']);
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

test('a call that is issued after the change of a secret stays, and so does one that a restart took up', async () => {
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

test('a person with a ticket watches: is told states, changes nothing, and is closed at the end', async () => {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const viewer = await scene.openViewer(call);
  const device = await scene.openDevice(token);
  device.open.report(progress('attempting'));
  assert.deepEqual(viewer.leg.told, [
    { kind: 'state', sessionId: call, state: 'establishing', reason: null },
    { kind: 'state', sessionId: call, state: 'attempting', reason: null },
  ]);
  device.open.report(hangup);
  assert.deepEqual(legWords(viewer.leg).slice(2), ['ended hangup_device', 'closed ended']);
  viewer.open.gone();
  assert.deepEqual(scene.service.counts(), { device: 0, bridge: 0, idle_bridge: 0, viewer: 0 });
});

test('the viewers of one call are none of another’s', async () => {
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
