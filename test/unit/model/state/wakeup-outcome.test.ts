import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId, DeviceId, RequestId, SessionId, WakeupId } from '../../../../src/model/ids.ts';
import type { WakeupRecord } from '../../../../src/model/wakeup.ts';
import {
  reduceWakeup,
  resumeWakeup,
  type WakeupEvent,
  type WakeupState,
  type WakeupStep,
} from '../../../../src/model/state/wakeup-outcome.ts';

const requestId = 'r-1' as RequestId;
const sessionId = 'signal-1' as SessionId;
const id = '01a2b3c4-0000-7000-8000-000000000009' as WakeupId;
/** The wall clock of these tests is a million ahead of the monotonic one. */
const wall = 1_000_000;

function writing(isOnline = false): WakeupState {
  return {
    kind: 'writing',
    request: {
      appId: 'app' as ApplicationId,
      deviceId: 'D' as DeviceId,
      customData: null,
      customDataText: null,
      requestId,
      signature: '00',
      signatureExpiresMs: 0,
    },
    packet: '983b16f8f39c0000',
    sleepEpoch: 7,
    watcher: null,
    isOnline,
    begunMs: 100,
    begunAtMs: wall + 100,
    login: null,
  };
}

const written = (nowMs: number): WakeupEvent => ({ kind: 'written', id, nowMs, atMs: wall + nowMs });
const login = (nowMs: number, session = sessionId): WakeupEvent => ({
  kind: 'login',
  sessionId: session,
  nowMs,
  atMs: wall + nowMs,
});
const reset = (nowMs: number, epoch = 7): WakeupEvent => ({ kind: 'reset', epoch, nowMs });
const time = (nowMs: number): WakeupEvent => ({ kind: 'time', nowMs, atMs: wall + nowMs });
const unknown: WakeupEvent = { kind: 'unknown', id };
const reported: WakeupEvent = { kind: 'reported', cause: 'remote' };

/** Where a walk ends, and everything that was saved on the way. */
function walk(start: WakeupState, ...events: WakeupEvent[]): WakeupStep {
  return events.reduce<WakeupStep>(
    ({ state, saves }, event) => {
      const step = reduceWakeup(state, event);
      return { state: step.state, saves: [...saves, ...step.saves] };
    },
    { state: start, saves: [] },
  );
}

function recordOf(state: WakeupState): WakeupRecord {
  assert.ok(state.kind !== 'writing');
  return state.record;
}

function told({ saves }: WakeupStep): string[] {
  return saves.map(({ event }) => event?.type ?? 'nothing');
}

const states: Record<string, WakeupState> = {
  writing: writing(),
  waiting: walk(writing(), written(200)).state,
  'waiting unknown': walk(writing(), unknown).state,
  doubtful: walk(writing(), written(200), reset(300)).state,
  failed: walk(writing(), written(200), reset(300), time(5300)).state,
  expired: walk(writing(), written(200), time(60_200)).state,
  completed: walk(writing(), written(200), login(300)).state,
  'completed and reported': walk(writing(), written(200), login(300), reported).state,
  'unknown for good': walk(writing(), unknown, time(60_100)).state,
};
const events: Record<string, WakeupEvent> = {
  written: written(400),
  unknown,
  'a login in time': login(400),
  'a login too late': login(70_000),
  'a reset': reset(400),
  'a reset of another session': reset(400, 8),
  'a moment too early': time(400),
  'the end of its time': time(70_000),
  'a report': reported,
};
/** What is not here changes nothing and saves nothing. */
const transitions: Record<string, Record<string, readonly [string, ...string[]]>> = {
  writing: {
    written: ['waiting', 'device.wakeup.accepted'],
    unknown: ['waiting', 'nothing'],
    'a login in time': ['writing'],
    'a login too late': ['writing'],
  },
  waiting: {
    'a login in time': ['settled', 'device.wakeup.completed'],
    'a login too late': ['settled', 'device.wakeup.expired'],
    'a reset': ['doubtful'],
    'the end of its time': ['settled', 'device.wakeup.expired'],
  },
  'waiting unknown': {
    'a login in time': ['settled', 'device.wakeup.completed'],
    'a login too late': ['settled', 'nothing'],
    'the end of its time': ['settled', 'nothing'],
  },
  doubtful: {
    'a login in time': ['settled', 'device.wakeup.completed'],
    'a login too late': ['settled', 'device.wakeup.failed'],
    'the end of its time': ['settled', 'device.wakeup.failed'],
  },
  completed: { 'a report': ['settled', 'nothing'] },
};
for (const [stateName, state] of Object.entries(states))
  for (const [eventName, event] of Object.entries(events)) {
    const expected = transitions[stateName]?.[eventName];
    test(`${stateName}, ${eventName}: ${expected === undefined ? 'nothing changes' : expected.join(', ')}`, () => {
      const step = reduceWakeup(state, event);
      if (expected === undefined) assert.equal(step.state, state);
      assert.deepEqual([step.state.kind, ...told(step)], expected ?? [state.kind]);
    });
  }

test('a wakeup of a device that is online is accepted and completed at once, and belongs to no login', () => {
  const step = walk(writing(true), login(150), written(200));
  assert.deepEqual(told(step), ['device.wakeup.accepted', 'device.wakeup.completed']);
  assert.deepEqual(
    step.saves.map(({ record }) => [record.status, record.isAwaited]),
    [
      ['accepted', true],
      ['completed', false],
    ],
  );
  const { wokeAfterMs, alreadyOnline, completedAtMs } = recordOf(step.state);
  assert.deepEqual([wokeAfterMs, alreadyOnline, completedAtMs], [0, true, wall + 200]);
  assert.ok(step.state.kind === 'settled' && step.state.sessionId === null);
});

test('a login between the write and its callback completes it after 0 ms, not before it is accepted', () => {
  const { state, saves } = walk(writing(), login(150), written(200));
  const { acceptedAtMs, completedAtMs, wokeAfterMs, alreadyOnline } = recordOf(state);
  assert.deepEqual(
    [acceptedAtMs, completedAtMs, wokeAfterMs, alreadyOnline],
    [wall + 200, wall + 200, 0, false],
  );
  assert.equal(saves.length, 2);
  assert.ok(state.kind === 'settled' && state.sessionId === sessionId);
});

test('of two logins during the write the first completes it', () => {
  const { state } = walk(writing(), login(150), login(160, 'signal-2' as SessionId), written(200));
  assert.ok(state.kind === 'settled' && state.sessionId === sessionId);
});

test('an unknown wakeup is measured from the beginning of its write, also when the login came before the answer', () => {
  const later = walk(writing(), unknown, login(2100));
  const before = walk(writing(), login(600), unknown);
  assert.equal(recordOf(later.state).wokeAfterMs, 2000);
  assert.equal(recordOf(before.state).wokeAfterMs, 500);
  assert.deepEqual(told(before), ['device.wakeup.completed']);
  assert.equal(recordOf(before.state).acceptedAtMs, null);
});

test('an unknown wakeup of a device that is online waits for a login like any other', () => {
  const { state } = walk(writing(true), unknown);
  assert.equal(recordOf(state).isAwaited, true);
});

test('an unknown wakeup stays unknown after its time, and is awaited no more', () => {
  const { status, isAwaited } = recordOf(walk(writing(), unknown, time(60_100)).state);
  assert.deepEqual([status, isAwaited], ['unknown', false]);
});

test('a login is in time until 60 s after the accepted write, and not from then on', () => {
  const inTime = walk(writing(), written(200), login(60_199.9)).state;
  assert.deepEqual([recordOf(inTime).status, recordOf(inTime).wokeAfterMs], ['completed', 60_000]);
  assert.equal(recordOf(walk(writing(), written(200), login(60_200)).state).status, 'expired');
});

test('a wakeup is expired at 60 s and not before', () => {
  assert.equal(recordOf(walk(writing(), written(200), time(60_199.9)).state).status, 'accepted');
  assert.equal(recordOf(walk(writing(), written(200), time(60_200)).state).status, 'expired');
});

test('a reset 9.9 s after the write casts doubt, one after 10.1 s none', () => {
  assert.equal(walk(writing(), written(200), reset(10_100)).state.kind, 'doubtful');
  assert.equal(walk(writing(), written(200), reset(10_300)).state.kind, 'waiting');
});

test('a login 4.9 s after the reset completes it, one after 5.1 s comes too late, noticed or not', () => {
  const doubtful = walk(writing(), written(200), reset(10_000)).state;
  assert.equal(recordOf(reduceWakeup(doubtful, login(14_900)).state).status, 'completed');
  assert.equal(recordOf(reduceWakeup(doubtful, login(15_100)).state).status, 'failed');
  assert.equal(recordOf(reduceWakeup(doubtful, time(14_900)).state).status, 'accepted');
});

test('what is said of a wakeup carries the epoch of the sleep session that carried it', () => {
  for (const last of [login(300), time(60_200)])
    for (const { event } of walk(writing(), written(200), last).saves) assert.equal(event?.epoch, 7);
  assert.deepEqual(walk(writing(), written(200), reset(300), time(5300)).saves.at(-1)?.event, {
    type: 'device.wakeup.failed',
    data: { request_id: requestId, reason: 'reset' },
    deviceId: 'D',
    atMs: wall + 5300,
    epoch: 7,
  });
});

test('a wakeup that was resumed has waited as long as the wall clock says, between nothing and its 60 s', () => {
  const accepted = recordOf(walk(writing(), written(200)).state);
  const waits = (wallMs: number): number => {
    const state = resumeWakeup(requestId, accepted, 5000, wallMs);
    assert.ok(state.kind === 'waiting');
    return state.deadlineMs - 5000;
  };
  assert.equal(waits(wall + 200 + 20_000), 40_000);
  assert.equal(waits(wall - 3_600_000), 60_000);
  assert.equal(waits(wall + 3_600_000), 0);
});

test('a wakeup that was resumed is completed after what the wall clock says it took, never less than nothing', () => {
  const accepted = recordOf(walk(writing(), written(200)).state);
  const wokeAfter = (wallMs: number): number | null =>
    recordOf(reduceWakeup(resumeWakeup(requestId, accepted, 5000, wallMs), login(6000)).state).wokeAfterMs;
  assert.equal(wokeAfter(wall + 200 + 20_000), 21_000);
  assert.equal(wokeAfter(wall - 3_600_000), 1000);
});

test('an unknown wakeup that was resumed is counted from the beginning of its write', () => {
  const record = recordOf(walk(writing(), unknown).state);
  const resumed = resumeWakeup(requestId, record, 0, wall + 100 + 30_000);
  assert.equal(recordOf(reduceWakeup(resumed, login(1000)).state).wokeAfterMs, 31_000);
});

test('a cause is added once', () => {
  const other: WakeupEvent = { kind: 'reported', cause: 'event' };
  const { state, saves } = walk(writing(), written(200), login(300), reported, other);
  assert.equal(recordOf(state).cause, 'remote');
  assert.equal(saves.length, 3);
});
