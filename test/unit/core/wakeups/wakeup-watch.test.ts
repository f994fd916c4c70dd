import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WakeupWatch } from '../../../../src/core/wakeups/wakeup-watch.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { DeviceId, RequestId, SessionId, WakeupId } from '../../../../src/model/ids.ts';
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

test('a signal login completes the wakeup, is told after it, and says how long it took', async () => {
  const scene = await woken();
  scene.clock.advance(2345.6);
  const completedAtMs = scene.clock.wallMs();
  scene.comeOnline();
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

test('a login in the turn of the write callback completes the wakeup after 0 ms', async () => {
  const scene = await woken();
  scene.comeOnline();
  assert.equal(scene.record('r-1')?.wokeAfterMs, 0);
  assert.equal(scene.record('r-1')?.alreadyOnline, false);
});

test('one login completes every wakeup that waits, in the order of their acceptance', async () => {
  const scene = await woken('b');
  scene.clock.advance(100);
  await wake(scene, 'a');
  scene.clock.advance(100);
  await wake(scene, 'c');
  scene.comeOnline();
  assert.deepEqual(scene.told().slice(3), ['completed b', 'completed a', 'completed c']);
  assert.deepEqual(
    ['b', 'a', 'c'].map((id) => scene.record(id)?.wokeAfterMs),
    [200, 100, 0],
  );
});

test('what was begun first and accepted last is completed last', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = null;
  const slow = scene.wake({ requestId: 'slow' as RequestId });
  scene.connection.immediately = 'written';
  await wake(scene, 'quick');
  scene.connection.settle('written');
  await slow;
  scene.comeOnline();
  assert.deepEqual(scene.told(), ['accepted quick', 'accepted slow', 'completed quick', 'completed slow']);
});

test('a login that the log has and nobody told of completes the wakeup that would expire', async () => {
  const scene = await woken();
  const begunAtMs = scene.clock.wallMs();
  scene.clock.advance(3000);
  const login = { kind: 'login', sessionId: 's' as SessionId, atMs: scene.clock.wallMs() } as const;
  const recalled: [DeviceId, number][] = [];
  scene.watch.recallBy((deviceId, sinceMs) => {
    recalled.push([deviceId, sinceMs]);
    scene.watch.noteLogged(deviceId, login);
  });
  scene.clock.advance(60_000);
  assert.deepEqual([recalled, statusOf(scene)], [[[testDevice, begunAtMs]], 'completed']);
  assert.equal(scene.record('r-1')?.wokeAfterMs, 3000);
});

test('a login that replaces a signal session completes what waits', async () => {
  const scene = new WakeupScene().sleep();
  scene.comeOnline();
  scene.connection.immediately = 'unknown';
  await scene.wake({ requestId: 'r-1' as RequestId });
  assert.equal(statusOf(scene), 'unknown');
  scene.clock.advance(700);
  scene.comeOnline();
  assert.deepEqual([statusOf(scene), scene.record('r-1')?.wokeAfterMs], ['completed', 700]);
});

test('the late close of a replaced signal session changes nothing', async () => {
  const scene = await woken();
  const session = scene.comeOnline();
  scene.comeOnline();
  const before = scene.record('r-1');
  const actor = scene.directory.find(testDevice);
  const late = {
    kind: 'ended',
    session,
    reason: 'reset',
    atMs: scene.clock.wallMs(),
    heartbeatAt: 0,
  } as const;
  actor?.post({ to: 'signal', event: late });
  assert.deepEqual(scene.record('r-1'), before);
  assert.deepEqual(scene.told(), ['accepted r-1', 'completed r-1']);
});

test('the sleep session ends as the controller boots, and the actor may be gone in between', async () => {
  const scene = await woken();
  scene.clock.advance(500);
  scene.endSleep('peer_closed');
  assert.equal(scene.directory.find(testDevice), null);
  scene.clock.advance(1000);
  scene.comeOnline();
  assert.equal(scene.record('r-1')?.wokeAfterMs, 1500);
});

test('a login of another device completes nothing', async () => {
  const scene = await woken();
  scene.watch.sessionChanged('signal', 'OTHER' as DeviceId, {
    kind: 'opened',
    session: 's' as SessionId,
    epoch: 1,
    atMs: 0,
    replaced: false,
  });
  assert.equal(statusOf(scene), 'accepted');
});

test('a wakeup is expired after 60 s without a login, at most two ticks late and never early', async () => {
  const scene = await woken();
  scene.clock.advance(59_999);
  assert.equal(statusOf(scene), 'accepted');
  scene.clock.advance(1 + lateMs);
  assert.deepEqual([statusOf(scene), scene.record('r-1')?.isAwaited], ['expired', false]);
  assert.deepEqual(scene.told(), ['accepted r-1', 'expired r-1']);
  assert.equal(scene.events.at(-1)?.epoch, 1);
  scene.comeOnline();
  assert.equal(statusOf(scene), 'expired');
  assert.equal(scene.watch.size, 0);
});

test('no wakeup of many expires early or more than two ticks late, whenever they were accepted', async () => {
  const scene = new WakeupScene({ deviceBurst: 100 }).sleep();
  const acceptedMs = new Map<string, number>();
  for (let i = 0; i < 50; i++) {
    scene.clock.advance(37.3);
    acceptedMs.set(`r-${i}`, scene.clock.monotonicMs());
    await wake(scene, `r-${i}`);
  }
  for (let step = 0; step < 65_000 / 10; step++) {
    scene.clock.advance(10);
    for (const [requestId, sinceMs] of acceptedMs) {
      const waitedMs = scene.clock.monotonicMs() - sinceMs;
      if (waitedMs < 60_000) assert.equal(statusOf(scene, requestId), 'accepted');
      else if (waitedMs > 60_000 + lateMs) assert.equal(statusOf(scene, requestId), 'expired');
    }
  }
});

test('an unknown wakeup stays unknown after 60 s, silently, and is awaited no more', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  await scene.wake({ requestId: 'r-1' as RequestId });
  scene.clock.advance(60_000 + lateMs);
  assert.deepEqual([statusOf(scene), scene.record('r-1')?.isAwaited], ['unknown', false]);
  assert.deepEqual(scene.told(), []);
  assert.equal(scene.watch.size, 0);
});

test('a reset of the session soon after the write, and no login in 5 s: the wakeup has failed', async () => {
  const scene = await woken();
  scene.clock.advance(9900);
  scene.endSleep('reset');
  scene.clock.advance(4999);
  assert.equal(statusOf(scene), 'accepted');
  scene.clock.advance(1 + lateMs);
  assert.deepEqual([statusOf(scene), scene.record('r-1')?.isAwaited], ['failed', false]);
  assert.deepEqual(scene.told(), ['accepted r-1', 'failed r-1']);
});

test('a reset 10.1 s after the write is no failure of the wakeup', async () => {
  const scene = await woken();
  scene.clock.advance(10_100);
  scene.endSleep('reset');
  scene.clock.advance(20_000);
  assert.equal(statusOf(scene), 'accepted');
  scene.comeOnline();
  assert.equal(statusOf(scene), 'completed');
});

test('a login 4.9 s after the reset completes the wakeup, measured from the write', async () => {
  const scene = await woken();
  scene.clock.advance(1000);
  scene.endSleep('reset');
  scene.clock.advance(4900);
  scene.comeOnline();
  assert.deepEqual([statusOf(scene), scene.record('r-1')?.wokeAfterMs], ['completed', 5900]);
});

test('a login 5.1 s after the reset comes too late, also when the watch has not looked yet', async () => {
  const scene = await woken();
  scene.clock.advance(1000.5);
  scene.endSleep('reset');
  scene.clock.advance(5100);
  scene.comeOnline();
  assert.deepEqual(scene.told(), ['accepted r-1', 'failed r-1']);
});

test('a new sleep login after the reset changes nothing: the wakeup fails all the same', async () => {
  const scene = await woken();
  scene.endSleep('reset');
  scene.clock.advance(1000);
  scene.sleep();
  scene.clock.advance(4000 + lateMs);
  assert.equal(statusOf(scene), 'failed');
});

test('the reset of a later sleep session does not fail a wakeup that an earlier one carried', async () => {
  const scene = await woken();
  scene.endSleep('peer_closed');
  scene.sleep();
  scene.endSleep('reset');
  scene.clock.advance(30_000);
  assert.equal(statusOf(scene), 'accepted');
});

for (const reason of ['peer_closed', 'heartbeat_timeout', 'kicked', 'write_stuck'] as const) {
  test(`a sleep session that ends as ${reason} fails no wakeup`, async () => {
    const scene = await woken();
    scene.endSleep(reason);
    scene.clock.advance(30_000);
    assert.equal(statusOf(scene), 'accepted');
  });
}

test('a reset fails every wakeup that its session carried in the last 10 s, and no older one', async () => {
  const scene = await woken('old');
  scene.clock.advance(8000);
  await wake(scene, 'young');
  scene.clock.advance(3000);
  scene.endSleep('reset');
  scene.clock.advance(5000 + lateMs);
  assert.deepEqual([statusOf(scene, 'old'), statusOf(scene, 'young')], ['accepted', 'failed']);
});

test('a reset does not fail an unknown wakeup', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  await scene.wake({ requestId: 'r-1' as RequestId });
  scene.endSleep('reset');
  scene.clock.advance(30_000);
  scene.comeOnline();
  assert.equal(statusOf(scene), 'completed');
});

for (const stepMs of [-3_600_000, 3_600_000]) {
  test(`a wall clock that steps by ${stepMs} ms settles nothing and changes no duration`, async () => {
    const scene = await woken();
    scene.clock.advance(10_000);
    scene.clock.stepWall(stepMs);
    scene.clock.advance(20_000);
    assert.equal(statusOf(scene), 'accepted');
    scene.comeOnline();
    assert.equal(scene.record('r-1')?.wokeAfterMs, 30_000);
    await wake(scene, 'r-2');
    scene.clock.stepWall(-stepMs);
    assert.equal(statusOf(scene, 'r-2'), 'completed');
  });

  test(`a wall clock that steps by ${stepMs} ms moves no expiry`, async () => {
    const scene = await woken();
    scene.clock.stepWall(stepMs);
    scene.clock.advance(59_999);
    assert.equal(statusOf(scene), 'accepted');
    scene.clock.advance(1 + lateMs);
    assert.equal(statusOf(scene), 'expired');
  });
}

test('after a restart in the middle the wait goes on, and a login completes it by the wall clock', async () => {
  const scene = await woken();
  scene.clock.advance(20_000);
  scene.restart();
  scene.clock.advance(5000);
  scene.comeOnline();
  assert.deepEqual([statusOf(scene), scene.record('r-1')?.wokeAfterMs], ['completed', 25_000]);
  assert.deepEqual(scene.told(), ['accepted r-1', 'completed r-1']);
});

test('after a restart in the middle it expires after the rest of its 60 s', async () => {
  const scene = await woken();
  scene.clock.advance(20_000);
  scene.restart();
  scene.clock.advance(39_999);
  assert.equal(statusOf(scene), 'accepted');
  scene.clock.advance(1 + lateMs);
  assert.equal(statusOf(scene), 'expired');
});

test('what ran out while no process was there is settled at once, oldest first: expired aloud, unknown silently', async () => {
  const scene = new WakeupScene().sleep();
  scene.connection.immediately = 'unknown';
  await scene.wake({ requestId: 'doubt' as RequestId });
  scene.connection.immediately = 'written';
  await wake(scene, 'r-1');
  await wake(scene, 'r-2');
  scene.clock.stepWall(61_000);
  scene.restart();
  assert.deepEqual(scene.told(), ['accepted r-1', 'accepted r-2', 'expired r-1', 'expired r-2']);
  assert.deepEqual([statusOf(scene, 'doubt'), scene.record('doubt')?.isAwaited], ['unknown', false]);
  assert.equal(scene.watch.size, 0);
});

test('a wall clock that was set back over a restart makes nobody wait more than 60 s, nor wake before the write', async () => {
  const scene = await woken();
  scene.clock.stepWall(-7_200_000);
  scene.restart();
  scene.comeOnline();
  assert.equal(scene.record('r-1')?.wokeAfterMs, 0);
  const other = await woken();
  other.clock.stepWall(-7_200_000);
  other.restart();
  other.clock.advance(60_000 + lateMs);
  assert.equal(statusOf(other), 'expired');
});

test('a settled wakeup is not taken up by a restart', async () => {
  const scene = await woken();
  scene.comeOnline();
  scene.restart();
  assert.equal(scene.watch.size, 0);
  scene.comeOnline();
  assert.deepEqual(scene.told(), ['accepted r-1', 'completed r-1']);
});

test('a report without a request id tells the cause of every wakeup that this login completed, without an event', async () => {
  const scene = await woken('a');
  await wake(scene, 'b');
  const session = scene.comeOnline();
  await wake(scene, 'already-online');
  const events = scene.events.length;
  scene.watch.reported(testDevice, session, { cause: 'remote', requestId: null });
  assert.deepEqual(
    ['a', 'b', 'already-online'].map((id) => scene.record(id)?.cause),
    ['remote', 'remote', null],
  );
  assert.equal(statusOf(scene, 'a'), 'completed');
  assert.equal(scene.events.length, events);
  assert.equal(scene.telemetry.count('wakeup to online'), 2);
});

test('a report with a request id tells the cause of that wakeup, whichever application’s it is', async () => {
  const scene = new WakeupScene().sleep();
  scene.shareProduct();
  await scene.wake({ requestId: 'same' as RequestId });
  await scene.wake({ requestId: 'same' as RequestId, appId: otherApp });
  await scene.wake({ requestId: 'another' as RequestId });
  const session = scene.comeOnline();
  scene.watch.reported(testDevice, session, { cause: 'abnormal', requestId: 'same' as RequestId });
  assert.deepEqual(
    [scene.record('same', testApp), scene.record('same', otherApp), scene.record('another')].map(
      (record) => record?.cause,
    ),
    ['abnormal', 'abnormal', null],
  );
});

test('a report of an unknown id, of another device’s, or on a session that completed nothing is ignored', async () => {
  const scene = await woken();
  const session = scene.comeOnline();
  scene.watch.reported(testDevice, session, { cause: 'remote', requestId: 'nobody' as RequestId });
  scene.watch.reported('OTHER' as DeviceId, session, { cause: 'remote', requestId: 'r-1' as RequestId });
  const replacing = scene.comeOnline();
  scene.watch.reported(testDevice, replacing, { cause: 'remote', requestId: null });
  assert.equal(scene.record('r-1')?.cause, null);
});

test('a controller that lost its first signal session may still report by request id on the next', async () => {
  const scene = await woken();
  scene.comeOnline();
  const replacing = scene.comeOnline();
  scene.watch.reported(testDevice, replacing, { cause: 'event', requestId: 'r-1' as RequestId });
  assert.equal(scene.record('r-1')?.cause, 'event');
});

test('the first report counts, and frees what was held for it', async () => {
  const scene = await woken();
  const session = scene.comeOnline();
  assert.equal(scene.watch.size, 1);
  scene.watch.reported(testDevice, session, { cause: 'event', requestId: null });
  scene.watch.reported(testDevice, session, { cause: 'remote', requestId: 'r-1' as RequestId });
  assert.equal(scene.record('r-1')?.cause, 'event');
  assert.equal(scene.watch.size, 0);
});

test('what is held for a report is freed with the end of the signal session', async () => {
  const scene = await woken();
  const session = scene.comeOnline();
  scene.goOffline();
  assert.equal(scene.watch.size, 0);
  scene.watch.reported(testDevice, session, { cause: 'remote', requestId: null });
  assert.equal(scene.record('r-1')?.cause, null);
});

test('what is held for a report is freed after 60 s', async () => {
  const scene = await woken();
  scene.comeOnline();
  scene.clock.advance(59_999);
  assert.equal(scene.watch.size, 1);
  scene.clock.advance(1 + lateMs);
  assert.equal(scene.watch.size, 0);
  assert.deepEqual(scene.told(), ['accepted r-1', 'completed r-1']);
});

test('of one device only so many are held for a report: the oldest is given up', async () => {
  const scene = new WakeupScene({ deviceBurst: 100 }).sleep();
  for (let i = 0; i <= wakeupsReportableMax; i++) await wake(scene, `r-${i}`);
  const session = scene.comeOnline();
  assert.equal(scene.watch.size, wakeupsReportableMax);
  scene.watch.reported(testDevice, session, { cause: 'remote', requestId: null });
  assert.deepEqual([scene.record('r-0')?.cause, scene.record('r-1')?.cause], [null, 'remote']);
});

test('who waits for an outcome is called once it is settled, and not when it was called off', async () => {
  const scene = await woken();
  let told = 0;
  let calledOff = 0;
  const id = scene.record('r-1')?.id ?? assert.fail();
  scene.watch.whenSettled(id, () => (told += 1));
  scene.watch.whenSettled(id, () => (calledOff += 1))();
  scene.watch.whenSettled('another' as WakeupId, () => (calledOff += 1));
  scene.endSleep('reset');
  assert.equal(told, 0);
  scene.clock.advance(5000 + lateMs);
  scene.comeOnline();
  assert.deepEqual([told, calledOff], [1, 0]);
});

test('one timer serves them all', async () => {
  const scene = await woken('a');
  await wake(scene, 'b');
  assert.equal(scene.clock.pendingTimers, 1);
});

describe('a wakeup whose watcher is gone', () => {
  const gone = 'n1/1@gone' as MemberId;
  const coordinator = 'n1/0@coordinator' as MemberId;
  const isGone = (watcher: MemberId): boolean => watcher === gone;

  /** Begun by another process, which died; and the watch of the one that goes on. */
  async function orphaned(): Promise<{ scene: WakeupScene; watch: WakeupWatch }> {
    const scene = new WakeupScene({ self: gone }).sleep();
    await wake(scene, 'r-1');
    scene.die();
    const { clock, records, telemetry } = scene;
    const watch = new WakeupWatch({ clock, records, telemetry, self: coordinator });
    watch.start();
    return { scene, watch };
  }

  test('is taken up once, and that of one that lives is left to it', async () => {
    const { scene, watch } = await orphaned();
    assert.equal(scene.record('r-1')?.watcher, gone);
    assert.equal(
      watch.resume(() => false),
      0,
    );
    assert.equal(watch.resume(isGone), 1);
    assert.equal(watch.resume(isGone), 0);
  });

  test('is completed by a login elsewhere, and backends are told once', async () => {
    const { scene, watch } = await orphaned();
    watch.resume(isGone);
    scene.clock.advance(2000);
    watch.noteLogged(testDevice, { kind: 'login', sessionId: 's' as SessionId, atMs: scene.clock.wallMs() });
    scene.clock.advance(70_000);
    assert.equal(statusOf(scene), 'completed');
    assert.equal(scene.record('r-1')?.wokeAfterMs, 2000);
    assert.deepEqual(scene.told(), ['accepted r-1', 'completed r-1']);
  });

  test('is completed by a login that came before it was taken up', async () => {
    const { scene, watch } = await orphaned();
    scene.clock.advance(3000);
    const login = { kind: 'login', sessionId: 's' as SessionId, atMs: scene.clock.wallMs() } as const;
    scene.clock.advance(1000);
    watch.recallBy((deviceId) => watch.noteLogged(deviceId, login));
    watch.resume(isGone);
    assert.deepEqual(scene.told(), ['accepted r-1', 'completed r-1']);
    assert.equal(scene.record('r-1')?.wokeAfterMs, 3000);
  });

  test('expires once when nobody signs in', async () => {
    const { scene, watch } = await orphaned();
    scene.clock.advance(20_000);
    watch.resume(isGone);
    scene.clock.advance(40_000 - 1);
    assert.equal(statusOf(scene), 'accepted');
    scene.clock.advance(lateMs + 1);
    watch.resume(isGone);
    scene.clock.advance(70_000);
    assert.deepEqual(scene.told(), ['accepted r-1', 'expired r-1']);
  });
});
