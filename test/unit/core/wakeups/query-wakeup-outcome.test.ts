import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutcomeWaiters } from '../../../../src/core/wakeups/log-followers.ts';
import { ScriptedEventLog } from '../../../support/scripted-event-log.ts';
import type { KnownWakeup } from '../../../../src/model/wakeup.ts';
import type { DeviceId, RequestId, WakeupId } from '../../../../src/model/ids.ts';
import {
  queryWakeupOutcome,
  type WakeupOutcomeCall,
  type WakeupOutcomeDeps,
} from '../../../../src/core/wakeups/query-wakeup-outcome.ts';
import { submitWakeup } from '../../../../src/core/wakeups/submit-wakeup.ts';
import { WaitingReaders } from '../../../../src/core/events/waiting-readers.ts';
import { ClusterScene } from '../../../support/cluster-scene.ts';
import { otherApp, testApp, testDevice } from '../../../support/fakes.ts';
import { WakeupScene } from '../../../support/wakeup-scene.ts';

const requestId = 'r-1' as RequestId;

class Scene extends WakeupScene {
  readonly readers = new WaitingReaders(this.clock, { max: 3, perApplicationMax: 2 });
  readonly outcomes: WakeupOutcomeDeps = {
    clock: this.clock,
    wakeupRecords: this.records,
    watch: this.watch,
    readers: this.readers,
    log: this.log,
    cluster: null,
    waiters: new OutcomeWaiters(new ScriptedEventLog()),
  };
  hangUp: () => void = () => assert.fail('nobody listens for a hang-up');

  async woken(): Promise<this> {
    assert.equal(await this.sleep().wake({ requestId }), 0);
    return this;
  }

  /** The status answered, or the code. */
  async ask(waitS = 0, overrides: Partial<WakeupOutcomeCall> = {}): Promise<string | number> {
    const answer = await queryWakeupOutcome(this.outcomes, {
      appId: testApp,
      requestId,
      deviceId: null,
      waitMs: waitS * 1000,
      onGone: (listener) => {
        this.hangUp = listener;
      },
      ...overrides,
    });
    return answer.ok ? answer.value.status : answer.error.code;
  }
}

/** Runs all pending promise callbacks. */
async function flushPromises(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** `still waiting`, or the answer. */
async function now(answer: Promise<string | number>): Promise<string | number> {
  await flushPromises();
  return Promise.race([answer, Promise.resolve('still waiting')]);
}

test('without a wait the answer is the current state, in the same turn', async () => {
  const scene = await new Scene().woken();
  const answer = queryWakeupOutcome(scene.outcomes, {
    appId: testApp,
    requestId,
    deviceId: null,
    waitMs: 0,
    onGone: () => undefined,
  });
  assert.ok(!(answer instanceof Promise) && answer.ok);
  assert.equal(answer.value, scene.record('r-1'));
});

test('an unknown id is 40413, another application’s too, and neither waits', async () => {
  const scene = await new Scene().woken();
  scene.shareProduct();
  assert.equal(await scene.ask(30, { requestId: 'r-2' as RequestId }), 40413);
  assert.equal(await scene.ask(30, { appId: otherApp }), 40413);
});

test('a wakeup that was never written is 40413', async () => {
  const scene = new Scene().sleep();
  scene.connection.immediately = 'refused';
  await scene.wake({ requestId });
  assert.equal(await scene.ask(30), 40413);
});

const outcomes: Record<string, (scene: Scene) => void> = {
  completed: (scene) => scene.connectController(),
  failed: (scene) => {
    scene.endSleep('reset');
    scene.clock.advance(5500);
  },
};
for (const [status, become] of Object.entries(outcomes)) {
  test(`a waiting caller is answered ${status} as soon as it is`, async () => {
    const scene = await new Scene().woken();
    const answer = scene.ask(30);
    scene.clock.advance(1000);
    assert.equal(await now(answer), 'still waiting');
    become(scene);
    assert.equal(await now(answer), status);
    assert.equal(scene.readers.size, 0);
    assert.equal(scene.clock.pendingTimers, 1, 'the watch alone');
  });
}

test('a waiting caller is answered expired after 60 s', async () => {
  const scene = await new Scene().woken();
  scene.clock.advance(45_000);
  const answer = scene.ask(30);
  await flushPromises();
  scene.clock.advance(15_500);
  assert.equal(await now(answer), 'expired');
});

test('a caller waits for an unknown wakeup until it is no longer awaited', async () => {
  const scene = new Scene().sleep();
  scene.connection.immediately = 'unknown';
  await scene.wake({ requestId });
  scene.clock.advance(50_000);
  const answer = scene.ask(30);
  assert.equal(await now(answer), 'still waiting');
  scene.clock.advance(10_500);
  assert.equal(await now(answer), 'unknown');
  assert.equal(scene.readers.size, 0);
  assert.equal(await now(scene.ask(30)), 'unknown', 'known by now: nobody waits');
});

test('at the end of the wait the answer is the current state', async () => {
  const scene = await new Scene().woken();
  const answer = scene.ask(2.5);
  await flushPromises();
  scene.clock.advance(2499);
  assert.equal(await now(answer), 'still waiting');
  scene.clock.advance(1);
  assert.equal(await now(answer), 'accepted');
  assert.equal(scene.readers.size, 0);
});

test('a caller whose wait is over is not notified of the outcome', async () => {
  const scene = await new Scene().woken();
  const { watch } = scene;
  const whenSettled = watch.whenSettled.bind(watch);
  let calls = 0;
  watch.whenSettled = (record, told) =>
    whenSettled(record, () => {
      calls += 1;
      told();
    });
  const answer = scene.ask(1);
  await flushPromises();
  scene.clock.advance(1000);
  assert.equal(await now(answer), 'accepted');
  scene.connectController();
  assert.equal(calls, 0);
});

test('a known outcome is answered at once, whatever the wait', async () => {
  const scene = await new Scene().woken();
  scene.connectController();
  assert.equal(await now(scene.ask(30)), 'completed');
});

test('many callers wait for one wakeup, and all are answered', async () => {
  const scene = await new Scene().woken();
  const answers = [scene.ask(30), scene.ask(30)];
  await flushPromises();
  scene.connectController();
  assert.deepEqual(await Promise.all(answers), ['completed', 'completed']);
});

test('a waiting caller is answered about its wakeup, though another of the same id begins meanwhile', async () => {
  const scene = new Scene().sleep();
  scene.connection.immediately = 'unknown';
  await scene.wake({ requestId });
  scene.clock.advance(55_000);
  const answer = scene.ask(10);
  await flushPromises();
  scene.connection.immediately = 'written';
  await scene.wake({ requestId });
  assert.equal(await now(answer), 'still waiting');
  assert.equal(await now(scene.ask(0)), 'accepted', 'who asks now is told of the latest');
  scene.clock.advance(5500);
  assert.equal(await now(answer), 'unknown');
});

test('among several wakeups of one id the latest is answered, or that of the given device', async () => {
  const scene = await new Scene().woken();
  const gate = 'GATE01' as DeviceId;
  const [{ record }] = [...scene.records.records.values()] as [KnownWakeup];
  const later = { ...record, id: `${record.id}+` as WakeupId, deviceId: gate, status: 'expired' } as const;
  scene.records.save(testApp, requestId, later, null);
  assert.equal(await scene.ask(0), 'expired');
  assert.equal(await scene.ask(0, { deviceId: testDevice }), 'accepted');
  assert.equal(await scene.ask(0, { deviceId: gate }), 'expired');
  assert.equal(await scene.ask(30, { deviceId: 'ANOTHER' as DeviceId }), 40413);
});

test('with all slots of one application in use the answer is 42901 with a retry time, and another application has room', async () => {
  const scene = await new Scene().woken();
  scene.shareProduct();
  await scene.wake({ requestId, appId: otherApp });
  const answers = [scene.ask(30), scene.ask(30)];
  const refused = await queryWakeupOutcome(scene.outcomes, {
    appId: testApp,
    requestId,
    deviceId: null,
    waitMs: 1,
    onGone: () => undefined,
  });
  assert.deepEqual(refused.ok ? null : [refused.error.code, refused.error.retryAfterS], [42901, 1]);
  assert.equal(await scene.ask(0), 'accepted', 'who does not wait needs no slot');
  assert.equal(await now(scene.ask(30, { appId: otherApp })), 'still waiting');
  scene.connectController();
  assert.deepEqual(await Promise.all(answers), ['completed', 'completed']);
});

test('a caller that hangs up frees its slot at once', async () => {
  const scene = await new Scene().woken();
  const answer = scene.ask(30);
  await flushPromises();
  assert.equal(scene.readers.size, 1);
  scene.hangUp();
  assert.equal(scene.readers.size, 0);
  assert.equal(await now(answer), 'accepted');
  assert.equal(scene.clock.pendingTimers, 1, 'the watch alone');
});

test('a draining server answers waiting callers with the current state, and no caller waits after that', async () => {
  const scene = await new Scene().woken();
  const answer = scene.ask(30);
  await flushPromises();
  scene.readers.wakeAll();
  assert.equal(await now(answer), 'accepted');
  assert.equal(await now(scene.ask(30)), 'accepted');
});

test('an outcome is committed before it is answered', async () => {
  const scene = await new Scene().woken();
  let commit = (): void => undefined;
  scene.records.outstanding = new Promise((resolve) => {
    commit = resolve;
  });
  const answer = scene.ask(0);
  assert.equal(await now(answer), 'still waiting');
  commit();
  assert.equal(await now(answer), 'accepted');
  assert.equal(scene.clock.pendingTimers, 1, 'the watch alone');
});

test('a commit that takes longer than 2 s is 50301, after a wait too', async () => {
  const scene = await new Scene().woken();
  scene.records.outstanding = new Promise(() => undefined);
  const answers = [scene.ask(0), scene.ask(10)];
  await flushPromises();
  scene.clock.advance(1999);
  assert.equal(await now(answers[0] ?? assert.fail()), 'still waiting');
  scene.clock.advance(1);
  assert.equal(await now(answers[0] ?? assert.fail()), 50301);
  scene.connectController();
  await flushPromises();
  scene.clock.advance(2000);
  assert.equal(await now(answers[1] ?? assert.fail()), 50301);
  assert.equal(scene.readers.size, 0);
});

test('an unreadable store is 50301 with a retry time, and logged', async () => {
  const scene = await new Scene().woken();
  scene.records.find = () => {
    throw new Error('gone');
  };
  assert.equal(await scene.ask(0), 50301);
  assert.equal(scene.log.lines[0]?.level, 'error');
});

test('a store that cannot be read at the end of a wait is 50301, and the slot is free', async () => {
  const scene = await new Scene().woken();
  const answer = scene.ask(10);
  await flushPromises();
  scene.records.find = () => {
    throw new Error('gone');
  };
  scene.clock.advance(10_000);
  assert.equal(await now(answer), 50301);
  assert.equal(scene.readers.size, 0);
});

/** The wakeup `r-1`, and its repeat `r-2`. */
async function repeated(): Promise<Scene> {
  const scene = new Scene().sleep();
  const request = scene.request({ requestId });
  for (const each of [request, { ...request, ...repeat }])
    assert.equal((await submitWakeup(scene.deps, each)).ok, true);
  return scene;
}

const repeat = { requestId: 'r-2' as RequestId };
const ofRepeat = { appId: testApp, ...repeat, deviceId: null, waitMs: 0, onGone: () => undefined };

test('the request id of a repeat answers the outcome of the first, is marked, and waits for it', async () => {
  const scene = await repeated();
  const answer = scene.ask(30, { ...repeat, deviceId: testDevice });
  assert.equal(await now(answer), 'still waiting');
  scene.connectController();
  assert.equal(await now(answer), 'completed');
  const settled = await queryWakeupOutcome(scene.outcomes, ofRepeat);
  assert.deepEqual(settled, { ok: true, value: scene.record('r-1'), repeatOf: requestId });
});

test('the request id of a repeat is scoped to its device and application', async () => {
  const scene = await repeated();
  scene.shareProduct();
  assert.equal(await scene.ask(0, { ...repeat, deviceId: 'another' as DeviceId }), 40413);
  assert.equal(await scene.ask(0, { ...repeat, appId: otherApp }), 40413);
});

test('an id of a repeat and a later wakeup answers the later one, and one of an earlier wakeup the repeat', async () => {
  const scene = await repeated();
  scene.connectController();
  scene.disconnectController();
  assert.equal(await scene.ask(0, repeat), 'completed');
  assert.equal(await scene.wake(repeat), 0);
  assert.equal(await scene.ask(0, repeat), 'accepted', 'of the later one');
  const request = scene.request({ requestId: 'r-3' as RequestId });
  await submitWakeup(scene.deps, request);
  await submitWakeup(scene.deps, { ...request, ...repeat });
  assert.equal((await queryWakeupOutcome(scene.outcomes, ofRepeat)).repeatOf, 'r-3');
});

test('an unreadable or missing outcome of the first wakeup is 50301 or 40413 to its repeat', async () => {
  const scene = await repeated();
  const find = scene.records.find.bind(scene.records);
  scene.records.find = (name) => (name.requestId === requestId ? null : find(name));
  assert.equal(await scene.ask(0, repeat), 40413);
  scene.records.find = (name) => {
    if (name.requestId === requestId) throw new Error('planted');
    return find(name);
  };
  assert.equal(await scene.ask(0, repeat), 50301);
});

test('the answer to a repeat waits for the commit of its request id', async () => {
  const scene = await repeated();
  const committed: RequestId[] = [];
  scene.records.committed = (wakeup) => {
    committed.push(wakeup.requestId);
    return Promise.resolve();
  };
  assert.equal(await scene.ask(0, repeat), 'accepted');
  assert.deepEqual(committed, ['r-2', 'r-1']);
});

test('a member that knows a repeat finds the outcome of the first at another', async () => {
  const scene = new ClusterScene();
  const [one, two] = [scene.member(0), scene.member(1)];
  one.sleep();
  const request = scene.wakeup({ requestId });
  await submitWakeup(one.deps, request);
  await flushPromises();
  await submitWakeup(two.deps, { ...request, ...repeat });
  await flushPromises();
  for (const member of [one, two]) assert.equal(await member.outcome(repeat.requestId), 'accepted');
});
