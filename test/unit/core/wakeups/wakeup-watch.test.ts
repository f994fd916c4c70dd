import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WakeupWatch } from '../../../../src/core/wakeups/wakeup-watch.ts';
import type { RequestId, SessionId, WakeupId } from '../../../../src/model/ids.ts';
import { wakeupsReportableMax } from '../../../../src/model/limits.ts';
import { otherApp, testApp, testDevice } from '../../../support/fakes.ts';
import { WakeupScene } from '../../../support/wakeup-scene.ts';

/** At most two ticks of the watch. */
const lateMs = 500;

async function woken(requestId = 'r-1'): Promise<WakeupScene> {
  const scene = new WakeupScene().sleep();
  await wake(scene, requestId);
  return scene;
}

async function wake(scene: WakeupScene, requestId: string): Promise<void> {
  assert.equal(await scene.wake({ requestId: requestId as RequestId }), 0);
}

function statusOf(scene: WakeupScene, requestId = 'r-1'): string | undefined {
  return scene.record(requestId)?.status;
}

test('a signal login completes the wakeup, whose event follows and has the wake time', async () => {
  const scene = await woken();
  scene.clock.advance(2345.6);
  const completedAtMs = scene.clock.wallMs();
  scene.connectController();
  const record = scene.record('r-1');
  assert.deepEqual(
    [record?.status, record?.isAwaited, record?.wokeAfterMs, record?.completedAtMs, record?.alreadyOnline],
    ['completed', false, 2346, completedAtMs, false],
  );
  assert.deepEqual(
    scene.events.map(({ type }) => type),
    ['device.sleep.login', 'device.wakeup.accepted', 'device.signal.online', 'device.wakeup.completed'],
  );
  assert.deepEqual(scene.events.at(-1), {
    type: 'device.wakeup.completed',
    data: { request_id: 'r-1', woke_after_ms: 2346 },
    deviceId: testDevice,
    atMs: completedAtMs,
    epoch: 1,
  });
  assert.equal(scene.telemetry.count('wakeup to online'), 1);
});

test('the event of a failed or expired wakeup has the epoch of the sleep session that carried it', async () => {
  for (const [reason, data, waitMs] of [
    ['reset', { request_id: 'r-1', reason: 'reset' }, 5000],
    ['peer_closed', { request_id: 'r-1' }, 60_000],
  ] as const) {
    const scene = await woken();
    scene.endSleep(reason);
    scene.clock.advance(waitMs + lateMs);
    const { type, epoch, ...told } = scene.events.at(-1) ?? assert.fail();
    assert.equal(type, reason === 'reset' ? 'device.wakeup.failed' : 'device.wakeup.expired');
    assert.deepEqual([epoch, told.data, told.deviceId], [1, data, testDevice]);
  }
});

test('a report with a request id sets the cause of that wakeup, of any application', async () => {
  const scene = new WakeupScene().sleep();
  scene.shareProduct();
  await scene.wake({ requestId: 'same' as RequestId });
  await scene.wake({ requestId: 'same' as RequestId, appId: otherApp });
  await scene.wake({ requestId: 'another' as RequestId });
  const session = scene.connectController();
  scene.watch.reported(testDevice, session, { cause: 'abnormal', requestId: 'same' as RequestId });
  assert.deepEqual(
    [scene.record('same', testApp), scene.record('same', otherApp), scene.record('another')].map(
      (record) => record?.cause,
    ),
    ['abnormal', 'abnormal', null],
  );
});

test('a bounded number of wakeups per device awaits a report: the oldest is dropped', async () => {
  const scene = new WakeupScene({ deviceBurst: 100 }).sleep();
  for (let i = 0; i <= wakeupsReportableMax; i++) await wake(scene, `r-${i}`);
  const session = scene.connectController();
  assert.equal(scene.watch.size, wakeupsReportableMax);
  scene.watch.reported(testDevice, session, { cause: 'remote', requestId: null });
  assert.deepEqual([scene.record('r-0')?.cause, scene.record('r-1')?.cause], [null, 'remote']);
});

test('a waiting caller is notified once the outcome is known, and not after it cancelled', async () => {
  const scene = await woken();
  let told = 0;
  let calledOff = 0;
  const record = scene.record('r-1') ?? assert.fail();
  scene.watch.whenSettled(record, () => (told += 1));
  scene.watch.whenSettled(record, () => (calledOff += 1))();
  scene.watch.whenSettled({ ...record, id: 'another' as WakeupId }, () => (calledOff += 1));
  scene.endSleep('reset');
  assert.equal(told, 0);
  scene.clock.advance(5000 + lateMs);
  scene.connectController();
  assert.deepEqual([told, calledOff], [1, 0]);
});

test('one timer serves all wakeups', async () => {
  const scene = await woken('a');
  await wake(scene, 'b');
  assert.equal(scene.clock.pendingTimers, 1);
});

describe('a wakeup of an earlier life', () => {
  /** A wakeup of a dead process, and the watch of the next one. */
  async function orphaned(): Promise<{ scene: WakeupScene; watch: WakeupWatch }> {
    const scene = new WakeupScene().sleep();
    await wake(scene, 'r-1');
    scene.die();
    const { clock, records, telemetry } = scene;
    const watch = new WakeupWatch({ clock, records, telemetry });
    watch.start();
    return { scene, watch };
  }

  test('is completed by a login at another member, with one event', async () => {
    const { scene, watch } = await orphaned();
    watch.resume();
    scene.clock.advance(2000);
    watch.applyLogged(testDevice, { kind: 'login', sessionId: 's' as SessionId, atMs: scene.clock.wallMs() });
    scene.clock.advance(70_000);
    assert.equal(statusOf(scene), 'completed');
    assert.equal(scene.record('r-1')?.wokeAfterMs, 2000);
    assert.deepEqual(scene.wakeupEvents(), ['accepted r-1', 'completed r-1']);
  });

  test('expires without a login', async () => {
    const { scene, watch } = await orphaned();
    scene.clock.advance(20_000);
    watch.resume();
    scene.clock.advance(40_000 - 1);
    assert.equal(statusOf(scene), 'accepted');
    scene.clock.advance(lateMs + 1);
    assert.deepEqual(scene.wakeupEvents(), ['accepted r-1', 'expired r-1']);
  });
});
