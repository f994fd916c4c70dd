import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offline, reduceSleep, type SleepEvent, type SleepState } from '../../../src/device/sleep-session.ts';
import { neverConnected, type ConnectionRecord } from '../../../src/domain/connectivity.ts';
import type { SessionId } from '../../../src/domain/ids.ts';

const session = 'session-1' as SessionId;
const laterSession = 'session-2' as SessionId;

function login(overrides: Partial<Extract<SleepEvent, { kind: 'login' }>> = {}): SleepEvent {
  return { kind: 'login', sessionId: session, wakeMode: 'custom', at: 100, heartbeatAt: 0, ...overrides };
}

function asleep(
  overrides: Partial<ConnectionRecord> = {},
  wakeMode: 'fixed' | 'custom' | 'none' = 'custom',
): SleepState {
  return {
    kind: 'asleep',
    wakeMode,
    record: { ...neverConnected, epoch: 1, lastLoginAt: 100, openSession: session, ...overrides },
  };
}

test('the first login opens epoch 1 and is no heartbeat', () => {
  const { state, effects } = reduceSleep(offline(neverConnected), login());
  assert.deepEqual(state, asleep());
  assert.deepEqual(effects, [{ kind: 'save' }]);
});

test('a login after an end keeps the last heartbeat and the last offline, and takes the next epoch', () => {
  const before = offline({
    epoch: 7,
    lastLoginAt: 1,
    lastHeartbeatAt: 2,
    lastOfflineAt: 3,
    openSession: null,
  });
  const { state } = reduceSleep(before, login());
  assert.deepEqual(state.record, {
    epoch: 8,
    lastLoginAt: 100,
    lastHeartbeatAt: 2,
    lastOfflineAt: 3,
    openSession: session,
  });
});

test('a newer login takes over: the old connection closes as replaced once the new session is saved', () => {
  const { state, effects } = reduceSleep(
    asleep(),
    login({ sessionId: laterSession, at: 200, heartbeatAt: 150 }),
  );
  assert.equal(state.record.epoch, 2);
  assert.equal(state.record.openSession, laterSession);
  assert.equal(state.record.lastHeartbeatAt, 150);
  assert.equal(state.record.lastOfflineAt, null, 'a replacement is no offline');
  assert.deepEqual(effects, [{ kind: 'save' }, { kind: 'close-previous', reason: 'replaced' }]);
});

test('the late close of a replaced connection changes nothing', () => {
  const current = asleep({ epoch: 2 });
  const { state, effects } = reduceSleep(current, { kind: 'ended', epoch: 1, at: 300, heartbeatAt: 250 });
  assert.equal(state, current);
  assert.deepEqual(effects, []);
});

test('an end sets the offline time, keeps the last heartbeat and releases the device', () => {
  const { state, effects } = reduceSleep(asleep(), { kind: 'ended', epoch: 1, at: 300, heartbeatAt: 250 });
  assert.deepEqual(
    state,
    offline({ ...asleep().record, lastHeartbeatAt: 250, lastOfflineAt: 300, openSession: null }),
  );
  assert.deepEqual(effects, [{ kind: 'save' }, { kind: 'release' }]);
});

test('an end that is told twice is recorded once', () => {
  const first = reduceSleep(asleep(), { kind: 'ended', epoch: 1, at: 300, heartbeatAt: 0 });
  const second = reduceSleep(first.state, { kind: 'ended', epoch: 1, at: 400, heartbeatAt: 0 });
  assert.equal(second.state, first.state);
  assert.deepEqual(second.effects, []);
});

test('an expelled session closes its connection with the reason given', () => {
  const { state, effects } = reduceSleep(asleep(), {
    kind: 'expel',
    reason: 'kicked',
    at: 300,
    heartbeatAt: 0,
  });
  assert.equal(state.record.lastOfflineAt, 300);
  assert.deepEqual(effects, [
    { kind: 'save' },
    { kind: 'close-previous', reason: 'kicked' },
    { kind: 'release' },
  ]);
});

test('a heartbeat already noted, or none, is not saved again', () => {
  const noted = asleep({ lastHeartbeatAt: 250 });
  assert.deepEqual(reduceSleep(noted, { kind: 'note-heartbeat', heartbeatAt: 250 }).effects, []);
  assert.deepEqual(reduceSleep(noted, { kind: 'note-heartbeat', heartbeatAt: 0 }).effects, []);
  const newer = reduceSleep(noted, { kind: 'note-heartbeat', heartbeatAt: 260 });
  assert.equal(newer.state.record.lastHeartbeatAt, 260);
  assert.deepEqual(newer.effects, [{ kind: 'save' }]);
});

const wakes = [
  { mode: 'fixed', carriesCustomData: false, effect: { kind: 'write-wake' } },
  { mode: 'fixed', carriesCustomData: true, effect: { kind: 'refuse-wake', code: 40902 } },
  { mode: 'custom', carriesCustomData: false, effect: { kind: 'write-wake' } },
  { mode: 'custom', carriesCustomData: true, effect: { kind: 'write-wake' } },
  { mode: 'none', carriesCustomData: false, effect: { kind: 'refuse-wake', code: 40902 } },
  { mode: 'none', carriesCustomData: true, effect: { kind: 'refuse-wake', code: 40902 } },
] as const;
for (const { mode, carriesCustomData, effect } of wakes) {
  test(`a ${mode} module asked ${carriesCustomData ? 'with' : 'without'} custom data: ${effect.kind}`, () => {
    const state = asleep({}, mode);
    const step = reduceSleep(state, { kind: 'wake', carriesCustomData });
    assert.equal(step.state, state);
    assert.deepEqual(step.effects, [effect]);
  });
}

test('a device without a session refuses a wake with 40412', () => {
  const { effects } = reduceSleep(offline(neverConnected), { kind: 'wake', carriesCustomData: false });
  assert.deepEqual(effects, [{ kind: 'refuse-wake', code: 40412 }]);
});
