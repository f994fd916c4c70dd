/** Wakeups of devices that may be at other members. Source: cluster.md, the failure table; decisions.md, Wakeup. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import {
  ownerRetryMs,
  ownerWakeMsMax,
  peerWriteMsMax,
  wakeupAnswerMsMax,
} from '../../../../src/model/limits.ts';
import { submitWakeup } from '../../../../src/core/wakeups/submit-wakeup.ts';
import { latestOf, otherApp, testDevice } from '../../../support/fakes.ts';
import { ClusterScene, now, untilIdle } from '../../../support/cluster-scene.ts';

const mine = { requestId: 'mine-1' as RequestId };

function asked({ network }: ClusterScene): string[] {
  return network.asked.map(({ what }) => what.kind);
}

test('any member wakes a device that sleeps at another: one write there, 202 here, counted once', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep();
  const answer = await submitWakeup(scene.member(1).deps, scene.wakeup({ customData: Buffer.from([1, 2]) }));
  assert.deepEqual(answer, { ok: true, value: { deviceId: testDevice, acceptedAtMs: scene.clock.wallMs() } });
  assert.deepEqual(
    connection.wakes.map((bytes) => bytes && [...bytes]),
    [[1, 2]],
  );
  assert.deepEqual(
    scene.members.map(({ telemetry }) => telemetry.count('wakeup accepted')),
    [1, 0, 0],
  );
  assert.equal(scene.shared.finds, 1, 'who is asked is told where the device is');
});

test('a local device is woken here, and no member is asked', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep();
  assert.equal(await scene.member(0).wake(), 0);
  assert.equal(connection.wakes.length, 1);
  assert.deepEqual(asked(scene), []);
});

test('a session that is not yet committed is woken in preference to another one in the row', async () => {
  const scene = new ClusterScene(['n1', 'n1']);
  const old = scene.member(0).sleep();
  const young = scene.member(1).sleep({ isCommitted: false });
  assert.equal(await scene.member(1).wake(), 0);
  assert.equal(young.connection.wakes.length, 1);
  scene.member(1).commit();
  await untilIdle();
  assert.deepEqual(old.connection.closes, ['replaced']);
});

test('access is checked at the receiving member, and no owner is asked', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  assert.equal(await scene.member(1).wake({ appId: otherApp }), 40302);
  assert.deepEqual(asked(scene), []);
});

test('the owner checks once more: a device that is taken from the application meanwhile is 40302', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  scene.shared.beforeFind = () => scene.registry.products.clear();
  assert.equal(await scene.member(1).wake(), 40302);
});

test('no member responds and the record has no session: 40412', async () => {
  const scene = new ClusterScene();
  const { session } = scene.member(0).sleep();
  scene.member(0).end('sleep', session);
  scene.network.leave(scene.member(0).id);
  assert.equal(await scene.member(1).wake(), 40412);
  assert.deepEqual(asked(scene), ['heartbeats'], 'the other that lives has no newer login of it either');
});

for (const fault of ['unwakeable', 'dead'] as const) {
  test(`no member responds (${fault}) and the record has a live owner: one retry after 75 ms, then 50301`, async () => {
    const scene = new ClusterScene();
    const { connection } = scene.member(0).sleep();
    scene.network.fault(scene.member(0).id, fault);
    const answer = submitWakeup(scene.member(1).deps, scene.wakeup());
    await untilIdle();
    scene.clock.advance(ownerRetryMs - 1);
    assert.equal(await now(answer), 'still waiting');
    scene.clock.advance(1);
    const told = await answer;
    assert.deepEqual(told.ok ? null : [told.error.code, told.error.retryAfterS], [50301, 1]);
    assert.equal(scene.shared.finds, 2);
    assert.deepEqual(connection.wakes, []);
  });

  test(`no member responds (${fault}), and by the retry the device has logged in elsewhere: it is woken there`, async () => {
    const scene = new ClusterScene();
    scene.member(0).sleep();
    scene.network.fault(scene.member(0).id, fault);
    const answer = scene.member(1).wake();
    await untilIdle();
    const { connection } = scene.member(2).sleep();
    const ended = { kind: 'ended', session: oldest(scene), atMs: 0, heartbeatAt: 0 } as const;
    scene.shared.apply('sleep', testDevice, ended, scene.member(0).slots);
    scene.clock.advance(ownerRetryMs);
    assert.equal(await answer, 0);
    assert.equal(connection.wakes.length, 1);
  });
}

function oldest(scene: ClusterScene): ReturnType<ClusterScene['nextSession']> {
  const slot = scene.shared.row(testDevice).sleep.slots[0];
  assert.ok(slot);
  return slot.session;
}

test("NATS away, the device's session is here: served", async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep();
  scene.member(1).sleep();
  scene.shared.fault = 'away';
  assert.equal(await scene.member(0).wake(), 0);
  assert.equal(connection.wakes.length, 1);
  assert.deepEqual(asked(scene), [], 'its own session alone');
});

test('NATS away, the session is elsewhere or unknown: 50301 at once', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  scene.shared.fault = 'away';
  assert.equal(await scene.member(1).wake(), 50301);
  assert.equal(await scene.member(1).wake(mine), 50301);
});

test('NATS away in silence: 50301, with all the time that an owner would have had left', async () => {
  const scene = new ClusterScene();
  scene.shared.fault = 'slow';
  const answer = scene.member(1).wake();
  await untilIdle();
  scene.clock.advance(wakeupAnswerMsMax - ownerWakeMsMax);
  assert.equal(await now(answer), 50301);
});

test('nothing could be sent to the owner in time: 50301', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep();
  scene.network.fault(scene.member(0).id, 'unreachable');
  const answer = scene.member(1).wake();
  await untilIdle();
  scene.clock.advance(ownerWakeMsMax);
  assert.equal(await now(answer), 50301);
  assert.deepEqual(connection.wakes, []);
});

for (const fault of ['stopped', 'cut'] as const)
  test(`sent to the owner (${fault}), no answer in time: 50402`, async () => {
    const scene = new ClusterScene();
    scene.member(0).sleep();
    scene.network.fault(scene.member(0).id, fault);
    const answer = scene.member(1).wake();
    await untilIdle();
    if (fault === 'stopped') assert.equal(await now(answer), 'still waiting');
    scene.clock.advance(ownerWakeMsMax);
    assert.equal(await now(answer), 50402);
    assert.equal(scene.member(1).telemetry.count('wakeup unknown'), 1);
  });

test('after the lease of a stopped owner ended, callers get 50301 at once instead of a timeout', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  scene.network.fault(scene.member(0).id, 'stopped');
  const first = scene.member(1).wake();
  await untilIdle();
  scene.network.fault(scene.member(0).id, 'dead');
  assert.equal(await first, 50402, 'it may have it');
  const second = scene.member(1).wake();
  await untilIdle();
  scene.clock.advance(ownerRetryMs);
  assert.equal(await now(second), 50301);
});

for (const [result, code] of [
  ['refused', 50204],
  ['unknown', 50402],
  ['busy', 42901],
] as const)
  test(`the owner's write is ${result}: ${code}`, async () => {
    const scene = new ClusterScene();
    scene.member(0).sleep().connection.immediately = result;
    assert.equal(await scene.member(1).wake(), code);
  });

test('the limits are the owner’s, through any member: three at once, then 42901 with a retry time', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  for (const place of [0, 1, 2]) assert.equal(await scene.member(place).wake(), 0);
  const refused = await submitWakeup(scene.member(1).deps, scene.wakeup());
  assert.deepEqual(refused.ok ? null : [refused.error.code, refused.error.retryAfterS], [42901, 1]);
});

test("live members share an application's rate, and a share grows when a member dies", async () => {
  const scene = new ClusterScene();
  const { limits } = scene.member(0).deps;
  const take = (): number => {
    const [device, member] = [`D${(taken += 1)}` as typeof testDevice, scene.member(0)];
    member.sleep({ deviceId: device });
    const actor = member.directory.find(device);
    assert.ok(actor);
    return limits.acquire(scene.wakeup().appId, actor);
  };
  let taken = 0;
  for (let i = 0; i < 99; i++) {
    assert.equal(take(), 0);
    limits.release();
  }
  assert.equal(take(), 0);
  limits.release();
  assert.equal(take(), 10, 'the next in a hundredth of a second');
  scene.network.leave(scene.member(1).id);
  scene.network.leave(scene.member(2).id);
  assert.ok(take() < 4);
});

test('a device that sleeps at three nodes is written to at all, and one good write is accepted', async () => {
  const scene = new ClusterScene(['n1', 'n2', 'n3', 'n4']);
  const connections = [0, 1, 2].map((place) => scene.member(place).sleep().connection);
  for (const [place, result] of (['refused', 'unknown', 'written'] as const).entries())
    Object.assign(connections[place] ?? {}, { immediately: result });
  assert.equal(await scene.member(3).wake({ customData: Buffer.from([7, 8]) }), 0);
  for (const { wakes } of connections) assert.deepEqual([...(wakes[0] ?? [])], [7, 8]);
  assert.deepEqual(scene.wakeupEvents(), ['accepted made-1']);
});

const combinations = [
  { modes: ['none', 'custom'], results: ['written', 'written'], code: 0 },
  { modes: ['none', 'none'], results: ['written', 'written'], code: 40902 },
  { modes: ['none', 'custom'], results: ['written', 'refused'], code: 50204 },
  { modes: ['none', 'custom'], results: ['written', 'busy'], code: 42901 },
  { modes: ['custom', 'custom'], results: ['refused', 'unknown'], code: 50402 },
  { modes: ['custom', 'none'], results: ['refused', 'written'], code: 50204 },
  { modes: ['custom', 'custom'], results: ['busy', 'busy'], code: 42901 },
] as const;
for (const { modes, results, code } of combinations)
  test(`modules ${modes.join(' and ')} whose writes would be ${results.join(' and ')}: ${code}`, async () => {
    const scene = new ClusterScene();
    for (const [place, wakeMode] of modes.entries()) {
      const { connection } = scene.member(place).sleep({ wakeMode });
      connection.immediately = results[place] ?? null;
    }
    assert.equal(await scene.member(2).wake(), code);
    assert.equal(scene.member(0).watch.size, code === 0 || code === 50402 ? 1 : 0);
  });

test('a wakeup that only the second session can take carries the epoch of that one', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep({ wakeMode: 'none' });
  scene.member(1).sleep();
  assert.equal(await scene.member(2).wake(mine), 0);
  assert.equal(
    scene.member(0).wakeupRecords.find(latestOf(scene.wakeup().appId, mine.requestId))?.sleepEpoch,
    2,
  );
});

test('a second session whose member does not answer: the wakeup is unknown after the time of a write', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep().connection.immediately = 'refused';
  scene.member(1).sleep();
  scene.network.fault(scene.member(1).id, 'stopped');
  const answer = scene.member(2).wake();
  await untilIdle();
  scene.clock.advance(peerWriteMsMax);
  assert.equal(await now(answer), 50402);
});

test('a session of a dead member is skipped, and the next oldest carries the wakeup', async () => {
  const scene = new ClusterScene();
  const lost = scene.member(0).sleep().connection;
  const { connection } = scene.member(1).sleep();
  scene.network.fault(scene.member(0).id, 'dead');
  assert.equal(await scene.member(2).wake(), 0);
  assert.deepEqual([lost.wakes.length, connection.wakes.length], [0, 1]);
});

test('events of a wakeup have the shared epoch', async () => {
  const scene = new ClusterScene(['n1', 'n1']);
  scene.member(0).sleep();
  scene.member(1).sleep();
  assert.equal(scene.member(1).directory.find(testDevice)?.epoch('sleep'), 2);
  assert.equal(await scene.member(0).wake(), 0);
  assert.equal(scene.shared.log.recentOf(testDevice)[0]?.epoch, 2);
});

test('a repeated signature is answered like the first at any member, also after the owner died, and writes nothing', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep();
  const request = scene.wakeup(mine);
  const first = await submitWakeup(scene.member(1).deps, request);
  await untilIdle();
  scene.network.fault(scene.member(0).id, 'dead');
  const repeat = { ...first, repeatOf: mine.requestId };
  for (const place of [1, 2]) assert.deepEqual(await submitWakeup(scene.member(place).deps, request), repeat);
  assert.equal(connection.wakes.length, 1);
});

test('one X-Request-ID at two members is two wakeups', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep();
  for (const place of [0, 1]) assert.equal(await scene.member(place).wake(mine), 0);
  assert.equal(connection.wakes.length, 2);
});

test('one signature at three members at once: the owner writes once and answers all alike', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep();
  connection.immediately = null;
  const request = scene.wakeup(mine);
  const answers = [1, 2, 0].map((place) => submitWakeup(scene.member(place).deps, request));
  await untilIdle();
  connection.completeWakes('written');
  const settled = await Promise.all(answers);
  const first = settled.find(({ repeatOf }) => repeatOf === undefined);
  assert.equal(first?.ok, true);
  const repeats = settled.filter((answer) => answer !== first);
  const repeat = { ...first, repeatOf: mine.requestId };
  assert.deepEqual(repeats, [repeat, repeat]);
  assert.equal(connection.wakes.length, 1);
});

test('a device that moves between the lookup and the question is located again, and woken there', async () => {
  const scene = new ClusterScene(['n1', 'n1', 'n2']);
  const old = scene.member(0).sleep();
  let young: ReturnType<(typeof scene.members)[0]['sleep']> | null = null;
  scene.shared.beforeFind = () => {
    scene.shared.beforeFind = () => undefined;
    queueMicrotask(() => {
      young = scene.member(1).sleep();
      scene.member(0).directory.supersede('sleep', testDevice, old.session);
    });
  };
  assert.equal(await scene.member(2).wake(), 0);
  assert.deepEqual(old.connection.wakes, []);
  assert.equal((young as typeof old | null)?.connection.wakes.length, 1);
});

test('a device whose last session ends between the lookup and the question is 40412', async () => {
  const scene = new ClusterScene();
  const { session } = scene.member(0).sleep();
  scene.shared.beforeFind = () => {
    scene.shared.beforeFind = () => undefined;
    queueMicrotask(() => scene.member(0).end('sleep', session));
  };
  assert.equal(await scene.member(2).wake(), 40412);
});

test('a session that is superseded during its wakeup: the result of its socket counts, and it closes', async () => {
  const scene = new ClusterScene(['n1', 'n1', 'n2']);
  const { connection } = scene.member(0).sleep();
  connection.immediately = null;
  const answer = scene.member(2).wake(mine);
  await untilIdle();
  scene.member(1).sleep();
  await untilIdle();
  assert.deepEqual(connection.closes, ['replaced']);
  connection.completeWakes('refused');
  assert.equal(await answer, 50204);
  assert.equal(await scene.member(2).wake(mine), 0, 'and its repeat goes to the new one');
});

test('a draining member begins no wakeup: 50301', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  scene.member(0).draining = true;
  for (const place of [0, 1]) assert.equal(await scene.member(place).wake(), 50301);
  scene.member(0).draining = false;
  scene.member(1).draining = true;
  assert.equal(await scene.member(1).wake(), 0, 'the one that does it decides');
});

test('rows that cannot be read are 50301', async () => {
  const scene = new ClusterScene();
  scene.shared.fault = 'broken';
  assert.equal(await scene.member(0).wake(), 50301);
});

test('a device whose signal is online at another member completes its wakeup at once', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  scene.member(1).connectController();
  assert.equal(await scene.member(2).wake(), 0);
  assert.deepEqual(scene.wakeupEvents(), ['accepted made-1', 'completed made-1']);
});
