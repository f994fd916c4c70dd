import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bridgeAnswerMsMax,
  legAdmissionMsMax,
  linkBroughtMax,
  mediaAwayMsMax,
} from '../../../../src/model/limits.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { legWords, orderForRoom, progress } from '../../../support/call-scene.ts';
import { KeptLegsScene } from '../../../support/kept-legs-scene.ts';
import { refusal, type Opened } from '../../../support/leg-service-scene.ts';
import type { OpenBridgeLeg, OpenDeviceLeg } from '../../../../src/core/ports/leg-service.ts';

interface RunningCall {
  readonly scene: KeptLegsScene;
  readonly call: SessionId;
  readonly device: Opened<OpenDeviceLeg>;
  readonly bridge: Opened<OpenBridgeLeg>;
}

async function ringingCall(): Promise<RunningCall> {
  const scene = await KeptLegsScene.open();
  const { call, token } = await scene.newCall();
  const device = await scene.device(token);
  const bridge = await scene.bridge(call);
  bridge.open.report(progress('ringing'));
  await scene.untilIdle();
  return { scene, call, device, bridge };
}

test('legs of a call stay open over a killed core, and receive no state again', async () => {
  const { scene, call, device, bridge } = await ringingCall();
  const events = scene.callEvents(call);
  await scene.kill();
  assert.deepEqual([scene.directory.hasDevice(call), scene.directory.hasBridge(call)], [false, false]);
  await scene.link();
  assert.deepEqual([scene.directory.hasDevice(call), scene.directory.hasBridge(call)], [true, true]);
  assert.deepEqual(scene.callEvents(call), events);
  assert.deepEqual(legWords(device.leg), ['ringing']);
  assert.deepEqual(legWords(bridge.leg), ['start']);
  bridge.open.report(progress('connected'));
  await scene.untilIdle();
  assert.deepEqual(legWords(device.leg), ['ringing', 'connected']);
  assert.equal(scene.state(call), 'connected');
});

test('the next core receives reports of legs from the time without a core', async () => {
  const { scene, call, device, bridge } = await ringingCall();
  await scene.kill();
  bridge.open.report(progress('attempting'));
  bridge.open.report(progress('connected'));
  await scene.link();
  assert.equal(scene.state(call), 'connected');
  assert.deepEqual(legWords(device.leg), ['ringing', 'attempting', 'connected']);
});

test('a report that the core has lost is sent again', async () => {
  const { scene, call, bridge } = await ringingCall();
  const commit = scene.commit();
  bridge.open.report(progress('connected'));
  await scene.untilIdle();
  await scene.kill(commit);
  assert.equal(scene.state(call), 'ringing');
  await scene.link();
  assert.deepEqual(scene.callEvents(call), ['started establishing', 'state ringing', 'state connected']);
});

test('a call unknown to the previous core is resumed by its legs', async () => {
  const scene = await KeptLegsScene.open();
  const { call, token } = await scene.newCall();
  const commit = scene.commit();
  await scene.device(token);
  await scene.kill(commit);
  assert.equal(scene.state(call), 'issued');
  await scene.link();
  assert.deepEqual([scene.state(call), scene.callEvents(call)], ['establishing', ['started establishing']]);
});

test('legs without a core are closed after a time, and are not adopted', async () => {
  const { scene, call, device, bridge } = await ringingCall();
  await scene.kill();
  scene.clock.advance(mediaAwayMsMax - 1);
  assert.deepEqual(legWords(device.leg), ['ringing']);
  scene.clock.advance(1);
  assert.deepEqual(legWords(device.leg).slice(-1), ['closed drain']);
  assert.deepEqual(legWords(bridge.leg).slice(-1), ['closed drain']);
  await scene.link();
  assert.deepEqual([scene.directory.hasDevice(call), scene.directory.hasBridge(call)], [false, false]);
});

test('an idle bridge is asked by the next core, and its answer to the previous one has no effect', async () => {
  const scene = await KeptLegsScene.open();
  const bridge = await scene.bridge();
  const { call } = await scene.newCall();
  await scene.untilIdle();
  assert.deepEqual(legWords(bridge.leg), ['assign']);
  await scene.kill();
  await scene.link();
  assert.deepEqual(legWords(bridge.leg), ['assign', 'assign']);
  bridge.open.answerAssignment(true);
  await scene.untilIdle();
  assert.equal(scene.directory.hasBridge(call), false);
  bridge.open.answerAssignment(true);
  await scene.untilIdle();
  assert.equal(scene.directory.hasBridge(call), true);
});

test('an answer that comes while there is no core has no effect', async () => {
  const scene = await KeptLegsScene.open();
  const bridge = await scene.bridge();
  const { call } = await scene.newCall();
  await scene.untilIdle();
  await scene.kill();
  bridge.open.answerAssignment(true);
  scene.clock.advance(bridgeAnswerMsMax);
  await scene.link();
  assert.equal(scene.directory.hasBridge(call), false);
  bridge.open.answerAssignment(true);
  await scene.untilIdle();
  assert.equal(scene.directory.hasBridge(call), true);
});

test('a call whose bridge is adopted is offered to no idle one', async () => {
  const scene = await KeptLegsScene.open();
  const idle = await scene.bridge();
  const { call, token } = await scene.newCall();
  await scene.device(token);
  idle.open.answerAssignment(false);
  await scene.untilIdle();
  const bridge = await scene.bridge(call);
  assert.equal(scene.state(call), 'establishing');
  await scene.kill();
  await scene.link();
  assert.deepEqual([legWords(idle.leg), legWords(bridge.leg)], [['assign'], ['start']]);
});

test('a newcomer waits for a core, but not for long', async () => {
  const scene = await KeptLegsScene.open();
  const { call, token } = await scene.newCall();
  await scene.kill();
  const late = refusal(scene.media.service.admitDevice(token));
  await scene.untilIdle();
  scene.clock.advance(legAdmissionMsMax);
  assert.equal(await late, 'unavailable');
  const coming = scene.device(token);
  await scene.untilIdle();
  await scene.link();
  await coming;
  assert.equal(scene.directory.hasDevice(call), true);
});

test('a bridge revoked meanwhile is closed, and so is a leg whose call has ended', async () => {
  const { scene, call, device, bridge } = await ringingCall();
  await scene.cut();
  scene.removeBridge('bridge-1');
  scene.directory.end(call, 'cancelled');
  await scene.link();
  assert.deepEqual(legWords(bridge.leg).slice(-1), ['closed revoked']);
  assert.deepEqual(legWords(device.leg).slice(-1), ['closed ended']);
});

test('more legs than fit into a message are adopted, and each receives its own call', async () => {
  const scene = await KeptLegsScene.open();
  const count = 2 * linkBroughtMax + 1;
  const calls: { readonly call: SessionId; readonly bridge: Opened<OpenBridgeLeg> }[] = [];
  for (let number = 0; number < count; number += 1) {
    const { deviceId } = scene.registry.addDevice({ deviceId: `D${number}` as never });
    const { call } = await scene.newCall(orderForRoom(`room-${number}`, { deviceId }));
    calls.push({ call, bridge: await scene.bridge(call) });
  }
  await scene.kill();
  await scene.link();
  assert.equal(scene.service.counts().bridge, count);
  for (const { call, bridge } of calls) {
    scene.directory.end(call, 'cancelled');
    await scene.untilIdle();
    assert.deepEqual(legWords(bridge.leg), ['start', 'ended cancelled', 'closed ended']);
  }
});
