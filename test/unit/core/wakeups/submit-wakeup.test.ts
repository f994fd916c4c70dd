import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import { submitWakeup } from '../../../../src/core/wakeups/submit-wakeup.ts';
import { otherApp, testApp, testDevice } from '../../../support/fakes.ts';
import { WakeupScene } from '../../../support/wakeup-scene.ts';

const mine = { requestId: 'mine-1' as RequestId };

test('a sleeping device is written to once and the answer is 202 with the time of the write', async () => {
  const scene = new WakeupScene().sleep();
  const answer = await submitWakeup(scene.deps, scene.request({ customData: Buffer.from([1, 2]) }));
  assert.deepEqual(answer, { ok: true, value: { deviceId: testDevice, acceptedAtMs: scene.clock.wallMs() } });
  assert.deepEqual(scene.connection.wakes, [Buffer.from([1, 2])]);
  assert.equal(scene.telemetry.count('wakeup accepted'), 1);
});

const access = [
  {
    name: 'a device that is not registered',
    change: (s: WakeupScene) => s.registry.devices.clear(),
    code: 40403,
  },
  {
    name: 'a disabled device',
    change: (s: WakeupScene) => s.registry.addDevice({ disabled: true }),
    code: 40403,
  },
  { name: "another application's device", change: () => undefined, code: 40302, appId: otherApp },
  {
    name: 'a device whose product is gone',
    change: (s: WakeupScene) => s.registry.products.clear(),
    code: 40302,
  },
  {
    name: 'a device that expires now',
    change: (s: WakeupScene) => s.registry.addDevice({ expiresAt: 1795163400 }),
    code: 40304,
  },
  {
    name: 'a registry that cannot be read',
    change: (s: WakeupScene) => (s.registry.failure = new Error('gone')),
    code: 50301,
  },
  { name: 'a server that is being stopped', change: (s: WakeupScene) => (s.draining = true), code: 50301 },
];
for (const { name, change, code, appId } of access) {
  test(`${name} is answered ${code} and nothing is written`, async () => {
    const scene = new WakeupScene().sleep();
    change(scene);
    assert.equal(await scene.wake({ appId: appId ?? testApp }), code);
    assert.deepEqual(scene.connection.wakes, []);
  });
}

test('a device that expires in a second is still woken', async () => {
  const scene = new WakeupScene().sleep();
  scene.registry.addDevice({ expiresAt: 1795163401 });
  assert.equal(await scene.wake(), 0);
});

test('a device without a session is 40412, a fixed module with custom data 40902, a keepalive-only one 40902', async () => {
  assert.equal(await new WakeupScene().wake(), 40412);
  assert.equal(await new WakeupScene().sleep('fixed').wake({ customData: Buffer.from([0, 0]) }), 40902);
  assert.equal(await new WakeupScene().sleep('none').wake(), 40902);
});

for (const [result, code] of [
  ['refused', 50204],
  ['unreachable', 50301],
  ['unknown', 50402],
  ['busy', 42901],
] as const) {
  test(`a write that is ${result} answers ${code}, and its repeat is tried again`, async () => {
    const scene = new WakeupScene().sleep();
    scene.connection.immediately = result;
    const request = scene.request(mine);
    const first = await submitWakeup(scene.deps, request);
    assert.equal(first.ok ? 0 : first.error.code, code);
    scene.connection.immediately = 'written';
    assert.equal((await submitWakeup(scene.deps, request)).ok, true);
    assert.equal(scene.connection.wakes.length, 2);
  });
}

test('a device is woken three times at once, then once a second; what was refused uses nothing up', async () => {
  const scene = new WakeupScene().sleep();
  assert.deepEqual([await scene.wake(), await scene.wake(), await scene.wake()], [0, 0, 0]);
  for (let i = 0; i < 10; i++) assert.equal(await scene.wake(), 42901);
  const refused = await submitWakeup(scene.deps, scene.request());
  assert.equal(refused.ok ? undefined : refused.error.retryAfterS, 1);
  scene.clock.advance(1000);
  assert.equal(await scene.wake(), 0);
  assert.equal(await scene.wake(), 42901);
});

test("one application's limit does not touch another's", async () => {
  const scene = new WakeupScene({ applicationBurst: 2 }).sleep();
  scene.shareProduct();
  assert.deepEqual([await scene.wake(), await scene.wake(), await scene.wake()], [0, 0, 42901]);
  assert.equal(await scene.wake({ appId: otherApp }), 0);
});

test('with as many writes under way as the node takes, the next is 42901 until one is answered', async () => {
  const scene = new WakeupScene({ inFlightMax: 1 }).sleep();
  scene.connection.immediately = null;
  const first = scene.wake();
  assert.equal(await scene.wake(), 42901);
  scene.connection.completeWakes('written');
  assert.equal(await first, 0);
  scene.connection.immediately = 'written';
  assert.equal(await scene.wake(), 0);
});

test('one X-Request-ID twice on a device is two wakeups: two packets, each with its events', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = null;
  const first = submitWakeup(scene.deps, scene.request(mine));
  const second = submitWakeup(scene.deps, scene.request(mine));
  scene.connection.completeWakes('written');
  assert.deepEqual([(await first).ok, (await second).ok], [true, true]);
  assert.equal(scene.connection.wakes.length, 2);
  scene.connectController();
  assert.deepEqual(scene.wakeupEvents(), [
    'accepted mine-1',
    'accepted mine-1',
    'completed mine-1',
    'completed mine-1',
  ]);
});

test('a repeat by signature while the first is under way joins it', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = null;
  const request = scene.request(mine);
  const first = submitWakeup(scene.deps, request);
  const second = submitWakeup(scene.deps, request);
  scene.connection.completeWakes('written');
  assert.deepEqual({ ...(await first), repeatOf: 'mine-1' }, await second);
  assert.equal(scene.connection.wakes.length, 1);
});

test('a repeat by signature after a 202 answers the same data, writes nothing and uses nothing up', async () => {
  const scene = new WakeupScene().sleep();
  const request = scene.request(mine);
  const first = await submitWakeup(scene.deps, request);
  scene.clock.advance(299_000);
  for (let i = 0; i < 5; i++)
    assert.deepEqual(await submitWakeup(scene.deps, request), { ...first, repeatOf: 'mine-1' });
  assert.equal(scene.connection.wakes.length, 1);
});

test('a repeat by signature answers the same data under any request id', async () => {
  const scene = new WakeupScene().sleep();
  const request = scene.request();
  const first = await submitWakeup(scene.deps, request);
  const { requestId: repeatOf } = request;
  assert.deepEqual(await submitWakeup(scene.deps, { ...request, ...mine }), { ...first, repeatOf });
  assert.equal(scene.connection.wakes.length, 1);
});

test('a full signature memory answers 42901 and forgets nothing; it empties as dates leave the window', async () => {
  const scene = new WakeupScene({ signaturesMax: 1 }).sleep();
  const known = scene.request();
  assert.equal((await submitWakeup(scene.deps, known)).ok, true);
  assert.equal(await scene.wake(), 42901);
  assert.equal((await submitWakeup(scene.deps, known)).ok, true);
  assert.equal(scene.connection.wakes.length, 1);
  scene.clock.advance(302_000);
  assert.equal(await scene.wake(), 0);
});

test('a full store of wakeups answers 42901', async () => {
  const scene = new WakeupScene().sleep();
  scene.records.full = true;
  assert.equal(await scene.wake(mine), 42901);
});

test('at the maximum of watched wakeups the answer is 42901, and an outcome makes room', async () => {
  const scene = new WakeupScene({ watchedMax: 1 }).sleep();
  assert.equal(await scene.wake(), 0);
  const refused = await submitWakeup(scene.deps, scene.request());
  assert.deepEqual(refused.ok ? null : [refused.error.code, refused.error.retryAfterS], [42901, 1]);
  scene.clock.advance(60_500);
  assert.equal(await scene.wake(), 0);
});

test('a fault in the write affects its caller only, and its repeat is executed again', async () => {
  const scene = new WakeupScene().sleep();
  const { telemetry } = scene;
  const request = scene.request(mine);
  telemetry.failOnWakeup = new Error('planted');
  await assert.rejects(submitWakeup(scene.deps, request), /planted/);
  telemetry.failOnWakeup = null;
  assert.equal((await submitWakeup(scene.deps, request)).ok, true);
  assert.equal(scene.connection.wakes.length, 2);
});

test('an accepted wakeup is kept, awaited, with its event, custom data as it was asked for', async () => {
  const scene = new WakeupScene().sleep();
  const atMs = scene.clock.wallMs();
  await scene.wake({ ...mine, customData: Buffer.from([0x12, 0xab]), customDataText: '0x12aB' });
  const { id, ...kept } = scene.record('mine-1') ?? assert.fail();
  assert.match(id, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.deepEqual(kept, {
    deviceId: testDevice,
    status: 'accepted',
    isAwaited: true,
    begunAtMs: atMs,
    acceptedAtMs: atMs,
    completedAtMs: null,
    wokeAfterMs: null,
    alreadyOnline: false,
    cause: null,
    sleepEpoch: 1,
    packet: '983b16f8f39c12ab',
  });
  assert.deepEqual(scene.events.at(-1), {
    type: 'device.wakeup.accepted',
    data: { request_id: 'mine-1', custom_data: '0x12aB' },
    deviceId: testDevice,
    atMs,
    epoch: 1,
  });
});

test('a wakeup without custom data has null in its event, and is recorded under the id of the server', async () => {
  const scene = new WakeupScene().sleep();
  await scene.wake();
  assert.deepEqual(scene.events.at(-1)?.data, { request_id: 'made-1', custom_data: null });
  assert.equal(scene.record('made-1')?.packet, '983b16f8f39c0000');
});

test('the answer does not wait for the store', async () => {
  const scene = new WakeupScene().sleep();
  scene.records.outstanding = new Promise(() => undefined);
  assert.equal(await scene.wake(), 0);
});

test('a wakeup of unknown result is recorded as such, awaited, and causes no event', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  const begunAtMs = scene.clock.wallMs();
  assert.equal(await scene.wake(mine), 50402);
  const { status, isAwaited, acceptedAtMs, begunAtMs: kept } = scene.record('mine-1') ?? {};
  assert.deepEqual([status, isAwaited, acceptedAtMs, kept], ['unknown', true, null, begunAtMs]);
  assert.deepEqual(scene.wakeupEvents(), []);
});

for (const result of ['refused', 'busy'] as const) {
  test(`a wakeup whose write is ${result} leaves no record and no watch`, async () => {
    const scene = new WakeupScene().sleep();
    scene.connection.immediately = result;
    await scene.wake(mine);
    assert.equal(scene.record('mine-1'), null);
    assert.equal(scene.watch.size, 0);
    assert.deepEqual(scene.wakeupEvents(), []);
  });
}

test('online is the state of the device before the write, even if it disconnected by the time of the write', async () => {
  const scene = new WakeupScene().sleep();
  scene.connectController();
  scene.connection.immediately = null;
  const answer = scene.wake(mine);
  scene.disconnectController();
  scene.connection.completeWakes('written');
  await answer;
  assert.equal(scene.record('mine-1')?.alreadyOnline, true);
});

test('the sleep session of a wakeup is the one of its write, even if it was replaced since', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = null;
  const answer = scene.wake(mine);
  scene.sleep();
  scene.connection.completeWakes('written');
  await answer;
  assert.equal(scene.record('mine-1')?.sleepEpoch, 1);
});
