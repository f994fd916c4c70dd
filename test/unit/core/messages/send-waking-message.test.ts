/** Messages that wake their device. Source: signal-wire.md, Sending a message; docs/call-flow.md, The message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageAnswer } from '../../../../src/core/messages/deliver-message.ts';
import { sendWakingMessage, type WakingRequest } from '../../../../src/core/messages/send-waking-message.ts';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import { wakeupToOnlineMsMax } from '../../../../src/model/limits.ts';
import type { MessageRequest, MessageWakeup } from '../../../../src/model/message.ts';
import { ClusterScene, now, untilIdle, type ClusterMember } from '../../../support/cluster-scene.ts';
import { otherApp } from '../../../support/fakes.ts';
import { demoCredential } from '../../../support/signed-requests.ts';

class WakingScene extends ClusterScene {
  /** Disconnects the caller of the last request. */
  hangUp: () => void = () => assert.fail('nobody has asked');

  constructor(nodes?: readonly string[]) {
    super(nodes);
    this.registry.credentials.set(demoCredential.accessKeyId, demoCredential);
  }

  send(
    member: ClusterMember,
    { message = this.message(), ...call }: Partial<WakingRequest> = {},
  ): Promise<MessageAnswer> {
    return sendWakingMessage(member.waking, {
      message,
      waitMs: 20_000,
      credential: demoCredential,
      onGone: (listener) => (this.hangUp = listener),
      ...call,
    });
  }
}

function codeOf(answer: MessageAnswer): number {
  return answer.ok ? 0 : answer.error.code;
}

function wakeupOf(answer: MessageAnswer): MessageWakeup | null | undefined {
  return answer.ok ? answer.value.wakeup : answer.error.wakeup;
}

/** The device sleeps at member 0 and wakes at `awake`; `asked` receives the request. */
const places = [
  { name: 'where it slept', asked: 0, awake: 0 },
  { name: 'at another member than it slept', asked: 0, awake: 1 },
  { name: 'at the member that is asked, from another', asked: 1, awake: 1 },
  { name: 'at a third member', asked: 1, awake: 2 },
];
for (const { name, asked, awake } of places)
  test(`a sleeping device is woken, awaited and handed its message ${name}`, async () => {
    const scene = new WakingScene();
    const { connection: module } = scene.member(0).sleep();
    const answer = scene.send(scene.member(asked));
    assert.equal(await now(answer), 'still waiting');
    assert.equal(module.wakes.length, 1);
    scene.clock.advance(1500);
    const { connection: controller } = scene.member(awake).connectController();
    const settled = await answer;
    assert.equal(codeOf(settled), 0);
    assert.equal(controller.messages.length, 1);
    assert.equal(wakeupOf(settled)?.status, 'completed');
    assert.equal(wakeupOf(settled)?.wokeAfterMs, 1500);
    assert.equal(scene.member(asked).waking.waiting.size, 0);
    const requestId = String(wakeupOf(settled)?.requestId);
    assert.deepEqual(scene.wakeupEvents(), [`accepted ${requestId}`, `completed ${requestId}`]);
    assert.equal(await scene.member(2).outcome(requestId), 'completed');
  });

test('a device that is online gets its message at once and is not woken', async () => {
  const scene = new WakingScene();
  const { connection: module } = scene.member(0).sleep();
  const { connection: controller } = scene.member(0).connectController();
  const answer = await scene.send(scene.member(1));
  assert.deepEqual([codeOf(answer), wakeupOf(answer)], [0, null]);
  assert.equal(controller.messages.length, 1);
  assert.deepEqual(module.wakes, []);
});

test('a device that does not wake in time is 50402, with the wakeup whose outcome may still be asked for', async () => {
  const scene = new WakingScene();
  scene.member(0).sleep();
  const answer = scene.send(scene.member(1), { waitMs: 5000 });
  await untilIdle();
  scene.clock.advance(4999);
  assert.equal(await now(answer), 'still waiting');
  scene.clock.advance(1);
  await untilIdle();
  const settled = await answer;
  assert.equal(codeOf(settled), 50402);
  const wakeup = wakeupOf(settled);
  assert.deepEqual([wakeup?.status, wakeup?.wokeAfterMs], ['accepted', null]);
  scene.member(2).connectController();
  assert.equal(await scene.member(2).outcome(String(wakeup?.requestId)), 'completed');
});

test('without a wait the device is woken and the answer is 50402 at once', async () => {
  const scene = new WakingScene();
  const { connection } = scene.member(0).sleep();
  const answer = await scene.send(scene.member(0), { waitMs: 0 });
  assert.deepEqual([codeOf(answer), wakeupOf(answer)?.status], [50402, 'accepted']);
  assert.equal(connection.wakes.length, 1);
});

test('a wakeup of unknown result is awaited', async () => {
  const scene = new WakingScene();
  const { connection: module } = scene.member(0).sleep();
  module.immediately = 'unknown';
  const answer = scene.send(scene.member(0));
  assert.equal(await now(answer), 'still waiting');
  scene.member(0).connectController();
  assert.equal(codeOf(await answer), 0);
});

test('a session that breaks under its wakeup ends the wait: 50402, failed', async () => {
  const scene = new WakingScene();
  const { session } = scene.member(0).sleep();
  const answer = scene.send(scene.member(0));
  await untilIdle();
  scene.member(0).end('sleep', session);
  scene.clock.advance(6000);
  await untilIdle();
  assert.deepEqual([codeOf(await answer), wakeupOf(await answer)?.status], [50402, 'failed']);
});

const refused: readonly {
  readonly code: number;
  readonly name: string;
  readonly prepare: (scene: WakingScene) => void | Promise<void>;
}[] = [
  { code: 40412, name: 'that neither is online nor sleeps', prepare: () => undefined },
  {
    code: 40902,
    name: 'whose module cannot be woken',
    prepare: (scene: WakingScene) => void scene.member(0).sleep({ wakeMode: 'none' }),
  },
  {
    code: 50204,
    name: 'whose connection refuses the write',
    prepare: (scene: WakingScene) => {
      scene.member(0).sleep().connection.immediately = 'refused';
    },
  },
  {
    code: 42901,
    name: 'that has been woken too often',
    prepare: async (scene: WakingScene) => {
      scene.member(0).sleep();
      for (let times = 0; times < 3; times++) await scene.member(0).wake();
    },
  },
  {
    code: 50301,
    name: 'of a server that is being stopped',
    prepare: (scene: WakingScene) => {
      scene.member(0).sleep();
      scene.member(1).draining = true;
      scene.member(0).draining = true;
    },
  },
];
for (const { code, name, prepare } of refused)
  test(`a message that is to wake a device ${name} is ${code}`, async () => {
    const scene = new WakingScene();
    await prepare(scene);
    const answer = await scene.send(scene.member(1));
    assert.deepEqual([codeOf(answer), wakeupOf(answer)], [code, undefined]);
    assert.equal(scene.member(1).waking.waiting.size, 0);
    const lines = scene.member(1).log.lines.filter(({ message }) => message === 'wakeup refused');
    assert.deepEqual(
      lines.map(({ fields }) => (fields as { code: number }).code),
      // A draining server wakes no device.
      code === 50301 ? [] : [code],
    );
    assert.equal(scene.member(1).telemetry.count('message refused'), 1);
  });

test('access is checked before the device is located', async () => {
  const scene = new WakingScene();
  scene.member(0).sleep();
  const message = scene.message({ appId: otherApp });
  assert.equal(codeOf(await scene.send(scene.member(1), { message })), 40302);
  assert.deepEqual(scene.network.asked, []);
});

test('a repeated signature joins the first while it waits and is answered like it, at any member', async () => {
  const scene = new WakingScene();
  const { connection: module } = scene.member(0).sleep();
  const message = scene.message();
  const first = scene.send(scene.member(1), { message });
  await untilIdle();
  const others = [1, 2, 0].map((place) => scene.send(scene.member(place), { message }));
  await untilIdle();
  const { connection: controller } = scene.member(2).connectController();
  const answer = await first;
  assert.equal(codeOf(answer), 0);
  assert.deepEqual(await Promise.all(others), [answer, answer, answer]);
  await untilIdle();
  for (const member of scene.members) assert.deepEqual(await scene.send(member, { message }), answer);
  assert.equal(module.wakes.length, 1);
  assert.equal(controller.messages.length, 1);
});

test('a request that was answered 50402 or 40412 neither wakes nor sends when repeated at any member', async () => {
  const scene = new WakingScene();
  const [late, absent] = [scene.message(), scene.message()] as [MessageRequest, MessageRequest];
  assert.equal(codeOf(await scene.send(scene.member(0), { message: absent })), 40412);
  const { connection: module } = scene.member(0).sleep();
  assert.equal(codeOf(await scene.send(scene.member(0), { message: late, waitMs: 0 })), 50402);
  await untilIdle();
  const { connection: controller } = scene.member(1).connectController();
  for (const member of scene.members) {
    assert.equal(codeOf(await scene.send(member, { message: late })), 50402);
    assert.equal(codeOf(await scene.send(member, { message: absent })), 40412);
  }
  assert.equal(module.wakes.length, 1);
  assert.deepEqual(controller.messages, []);
});

test('a caller that hangs up frees its place, and its message is not sent', async () => {
  const scene = new WakingScene();
  scene.member(0).sleep();
  const message = scene.message();
  const answer = scene.send(scene.member(0), { message });
  await untilIdle();
  assert.equal(scene.member(0).waking.waiting.size, 1);
  scene.hangUp();
  assert.equal(scene.member(0).waking.waiting.size, 0);
  assert.equal(codeOf(await answer), 50301);
  const { connection } = scene.member(0).connectController();
  await untilIdle();
  assert.deepEqual(connection.messages, []);
  assert.equal(codeOf(await scene.send(scene.member(0), { message })), 0, 'it may come again');
});

test('waiting requests are bounded, per application and in total; one more is 42901, wakes nothing, and may be retried', async () => {
  const scene = new WakingScene(['n1']);
  const { connection } = scene.member(0).sleep();
  const product = scene.registry.products.get('doorbell');
  assert.ok(product);
  scene.registry.products.set('doorbell', { ...product, appIds: [...product.appIds, otherApp] });
  const ask = (appId: ApplicationId): Promise<MessageAnswer> =>
    scene.send(scene.member(0), { message: scene.message({ appId }) });
  const own = [1, 2].map(() => ask(scene.message().appId));
  await untilIdle();
  const wakes = connection.wakes.length;
  assert.equal(codeOf(await ask(scene.message().appId)), 42901);
  const another = ask(otherApp);
  await untilIdle();
  assert.equal(codeOf(await ask(otherApp)), 42901);
  assert.equal(connection.wakes.length, wakes + 1);
  scene.member(0).connectController();
  assert.deepEqual((await Promise.all([...own, another])).map(codeOf), [0, 0, 0]);
});

test('a request that waits when the server drains is answered 50301', async () => {
  const scene = new WakingScene();
  scene.member(0).sleep();
  const answer = scene.send(scene.member(0));
  await untilIdle();
  scene.member(0).draining = true;
  scene.member(0).waking.waiting.wakeAll();
  assert.equal(codeOf(await answer), 50301);
});

test('a credential that is withdrawn while the device wakes sends nothing', async () => {
  const scene = new WakingScene();
  scene.member(0).sleep();
  const answer = scene.send(scene.member(0));
  await untilIdle();
  scene.registry.credentials.clear();
  const { connection } = scene.member(0).connectController();
  assert.equal(codeOf(await answer), 40301);
  assert.deepEqual(connection.messages, []);
});

test('a device that woke and disconnected again is 50402 with a completed wakeup', async () => {
  const scene = new WakingScene();
  scene.member(0).sleep();
  const answer = scene.send(scene.member(0));
  await untilIdle();
  const { session } = scene.member(0).connectController();
  scene.member(0).end('signal', session);
  assert.deepEqual([codeOf(await answer), wakeupOf(await answer)?.status], [50402, 'completed']);
});

test('one that does not acknowledge after it woke is 50402 with a completed wakeup, too', async () => {
  const scene = new WakingScene();
  scene.member(0).sleep();
  const answer = scene.send(scene.member(0));
  await untilIdle();
  const { connection } = scene.member(0).connectController();
  connection.immediately = 'unknown';
  assert.deepEqual([codeOf(await answer), wakeupOf(await answer)?.status], [50402, 'completed']);
  assert.equal(connection.messages.length, 1);
});

test('the shared state becomes unreachable while the device wakes: 50301, and the request may be retried', async () => {
  const scene = new WakingScene();
  scene.member(0).sleep();
  const answer = scene.send(scene.member(1), { waitMs: 30_000 });
  await untilIdle();
  scene.shared.fault = 'away';
  scene.clock.advance(wakeupToOnlineMsMax);
  await untilIdle();
  assert.equal(codeOf(await answer), 50301);
});
