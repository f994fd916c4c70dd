import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectivityQueryMsMax } from '../../../../src/model/limits.ts';
import { queryConnectivity } from '../../../../src/core/devices/query-connectivity.ts';
import { otherApp, testApp, testDevice } from '../../../support/fakes.ts';
import { SessionScene } from '../../../support/session-scene.ts';

const never = new Promise<void>(() => undefined);

/** The code of an immediate answer; 0: the record. */
function codeOf(scene: SessionScene, appId = testApp): number {
  const answer = queryConnectivity(scene.deps, appId, testDevice);
  assert.ok(!(answer instanceof Promise), 'nothing is to be waited for');
  return answer.ok ? 0 : answer.error.code;
}

test('a device that never connected has only nulls, and is not online', () => {
  const scene = new SessionScene();
  const nothing = { lastLoginAt: null, lastHeartbeatAt: null, lastOfflineAt: null };
  assert.deepEqual([scene.sleep.times(), scene.signal.times()], [nothing, nothing]);
  assert.equal(scene.isOnline(), false);
});

test('a connected device is answered from its actor, a disconnected one from its records, alike', () => {
  const scene = new SessionScene();
  const nowS = Math.floor(scene.clock.wallMs() / 1000);
  const [module, controller] = [scene.sleep.login(), scene.signal.login()];
  scene.clock.advance(30_000);
  module.heartbeat();
  controller.heartbeat();
  assert.equal(scene.isOnline(), true);
  const live = { lastLoginAt: nowS, lastHeartbeatAt: nowS + 30, lastOfflineAt: null };
  assert.deepEqual([scene.sleep.times(), scene.signal.times()], [live, live]);
  scene.clock.advance(1000);
  controller.end('peer_closed');
  assert.equal(scene.isOnline(), false);
  assert.deepEqual(
    [scene.sleep.times(), scene.signal.times()],
    [live, { ...live, lastOfflineAt: nowS + 31 }],
  );
  module.end('peer_closed');
  assert.equal(scene.directory.size, 0);
  const gone = { ...live, lastOfflineAt: nowS + 31 };
  assert.deepEqual([scene.sleep.times(), scene.signal.times()], [gone, gone]);
});

const refusals = [
  { name: 'an unknown device', change: (s: SessionScene) => s.registry.devices.clear(), code: 40403 },
  {
    name: 'a disabled device',
    change: (s: SessionScene) => s.registry.addDevice({ disabled: true }),
    code: 40403,
  },
  { name: "another application's device", change: () => undefined, code: 40302, appId: otherApp },
  {
    name: 'an expired device',
    change: (s: SessionScene) => s.registry.addDevice({ expiresAt: 1 }),
    code: 40304,
  },
  {
    name: 'a registry that cannot be read',
    change: (s: SessionScene) => (s.registry.failure = new Error('gone')),
    code: 50301,
  },
  {
    name: 'a sleep record that cannot be read',
    change: (s: SessionScene) => (s.sleepRecords.failure = new Error('gone')),
    code: 50301,
  },
  {
    name: 'a signal record that cannot be read',
    change: (s: SessionScene) => (s.signalRecords.failure = new Error('gone')),
    code: 50301,
  },
];
for (const { name, change, code, appId } of refusals)
  test(`${name} is answered ${code}`, () => {
    const scene = new SessionScene();
    change(scene);
    assert.equal(codeOf(scene, appId), code);
  });

test('the signal record of a sleeping device that cannot be read is 50301, never an empty one', () => {
  const scene = new SessionScene();
  scene.sleep.login();
  scene.signalRecords.failure = new Error('gone');
  assert.equal(codeOf(scene), 50301);
  scene.signalRecords.failure = null;
  assert.equal(codeOf(scene), 0);
});

for (const kind of ['sleepRecords', 'signalRecords'] as const) {
  test(`an answer waits until the ${kind} are committed`, async () => {
    const scene = new SessionScene();
    scene.signal.login();
    let commit = (): void => undefined;
    scene[kind].outstanding = new Promise((resolve) => (commit = resolve));
    const answer = queryConnectivity(scene.deps, testApp, testDevice);
    assert.ok(answer instanceof Promise);
    commit();
    const { ok } = await answer;
    assert.equal(ok, true);
    assert.equal(scene.clock.pendingTimers, 0);
  });

  test(`${kind} that are not committed within 2 s are answered 50401`, async () => {
    const scene = new SessionScene();
    scene.signal.login();
    scene[kind].outstanding = never;
    const answer = queryConnectivity(scene.deps, testApp, testDevice);
    scene.clock.advance(connectivityQueryMsMax - 1);
    assert.equal(scene.clock.pendingTimers, 1);
    scene.clock.advance(1);
    assert.deepEqual(await answer, { ok: false, error: { code: 50401, message: 'query timed out' } });
  });
}

test('while the store refuses writes, uncommitted devices are answered 50301 at once, and others as usual', () => {
  const scene = new SessionScene();
  scene.refusing = true;
  assert.equal(codeOf(scene), 0);
  scene.sleepRecords.outstanding = never;
  assert.equal(codeOf(scene), 50301);
  scene.refusing = false;
  assert.ok(queryConnectivity(scene.deps, testApp, testDevice) instanceof Promise);
});

test('an answer waits for both records, whichever is committed first', async () => {
  for (const [first, last] of [
    ['sleepRecords', 'signalRecords'] as const,
    ['signalRecords', 'sleepRecords'] as const,
  ]) {
    const scene = new SessionScene();
    scene[first].outstanding = Promise.resolve();
    scene[last].outstanding = never;
    const answer = queryConnectivity(scene.deps, testApp, testDevice);
    assert.ok(answer instanceof Promise);
    await scene[first].outstanding;
    scene.clock.advance(connectivityQueryMsMax);
    const told = await answer;
    assert.equal(told.ok ? 0 : told.error.code, 50401, `${last} are not committed`);
  }
});
