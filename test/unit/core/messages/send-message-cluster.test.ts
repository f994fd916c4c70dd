/** Messages to devices that may be online at other members. Source: cluster.md; signal-wire.md, Sending a message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageAckMsMax, ownerQueryMsMax, peerHopMsMax } from '../../../../src/model/limits.ts';
import { sendMessage } from '../../../../src/core/messages/send-message.ts';
import { otherApp, testDevice } from '../../../support/fakes.ts';
import { ClusterScene, now, untilIdle } from '../../../support/cluster-scene.ts';

test('any member sends to a device that is online at another, and its repeat is answered there', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).connectController();
  const request = scene.message();
  const first = await sendMessage(scene.member(1).messages, request);
  assert.equal(first.ok, true);
  assert.deepEqual(await sendMessage(scene.member(2).messages, request), first);
  assert.equal(connection.messages.length, 1);
});

test('a device that is online nowhere is 40412, a login that is not yet committed is found', async () => {
  const scene = new ClusterScene();
  assert.equal(await scene.member(0).send(), 40412);
  scene.member(0).connectController({ isCommitted: false });
  assert.equal(await scene.member(0).send(), 0);
});

for (const fault of ['unwakeable', 'dead'] as const)
  test(`the owner does not respond (${fault}): 50301 at once`, async () => {
    const scene = new ClusterScene();
    scene.member(0).connectController();
    scene.network.fault(scene.member(0).id, fault);
    assert.equal(await now(scene.member(1).send()), 50301);
  });

for (const [fault, code] of [
  ['unreachable', 50301],
  ['stopped', 50402],
] as const)
  test(`an owner that is ${fault}: ${code} after the time of an acknowledgement and the way`, async () => {
    const scene = new ClusterScene();
    scene.member(0).connectController();
    scene.network.fault(scene.member(0).id, fault);
    const answer = scene.member(1).send();
    await untilIdle();
    scene.clock.advance(messageAckMsMax + peerHopMsMax - 1);
    assert.equal(await now(answer), 'still waiting');
    scene.clock.advance(1);
    assert.equal(await now(answer), code);
  });

test('NATS away: a device that is here is served, another 50301', async () => {
  const scene = new ClusterScene();
  scene.member(0).connectController();
  scene.shared.fault = 'away';
  assert.equal(await scene.member(0).send(), 0);
  assert.equal(await scene.member(1).send(), 50301);
});

test('NATS away in silence: 50301 after the time of a query', async () => {
  const scene = new ClusterScene();
  scene.shared.fault = 'slow';
  const answer = scene.member(1).send();
  await untilIdle();
  scene.clock.advance(ownerQueryMsMax);
  assert.equal(await now(answer), 50301);
});

test('rows that cannot be read are 50301; access is checked at both ends', async () => {
  const scene = new ClusterScene();
  scene.member(0).connectController();
  assert.equal(await scene.member(1).send({ appId: otherApp }), 40302);
  assert.equal(scene.network.asked.length, 0);
  scene.shared.beforeFind = () => scene.registry.products.clear();
  assert.equal(await scene.member(1).send(), 40302);
  scene.shared.fault = 'broken';
  scene.registry.products.clear();
  const other = new ClusterScene();
  other.shared.fault = 'broken';
  assert.equal(await other.member(0).send(), 50301);
});

test('a device that moves between the lookup and the question is located again', async () => {
  const scene = new ClusterScene();
  const old = scene.member(0).connectController();
  scene.shared.beforeFind = () => {
    scene.shared.beforeFind = () => undefined;
    queueMicrotask(() => {
      scene.member(1).connectController();
      scene.member(0).directory.supersede('signal', testDevice, old.session);
    });
  };
  assert.equal(await scene.member(2).send(), 0);
  assert.deepEqual(old.connection.messages, []);
});

test('a device that goes offline between the lookup and the question is 40412', async () => {
  const scene = new ClusterScene();
  const { session } = scene.member(0).connectController();
  scene.shared.beforeFind = () => {
    scene.shared.beforeFind = () => undefined;
    queueMicrotask(() => scene.member(0).end('signal', session));
  };
  assert.equal(await scene.member(2).send(), 40412);
});
