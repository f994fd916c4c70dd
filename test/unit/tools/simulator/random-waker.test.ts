import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wakeAtRandom } from '../../../../src/tools/simulator/simulate-devices.ts';
import type { WakeupOutcomeData } from '../../../../src/client/reveille-client.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

function outcomeOf(deviceId: string): WakeupOutcomeData {
  return {
    request_id: 'r',
    device_id: deviceId,
    status: 'completed',
    accepted_at: null,
    completed_at: null,
    woke_after_ms: 412,
    already_online: false,
    cause: 'remote',
  };
}

function untilIdle(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Wakes a random device at this interval. */
function stage(everyMs = 1000) {
  const clock = new DrivenClock();
  const asleep: { deviceId: string | null } = { deviceId: 'D1' };
  const woken: string[] = [];
  const reported: string[] = [];
  const answers: ((error: Error | null) => void)[] = [];
  const fleet = { pickAsleep: () => asleep.deviceId };
  const report = {
    outcome: (outcome: WakeupOutcomeData) =>
      void reported.push(`${outcome.device_id} ${outcome.woke_after_ms}`),
    trouble: (deviceId: string, error: Error) => void reported.push(`${deviceId} ${error.message}`),
  };
  const stop = wakeAtRandom(clock, everyMs, fleet, report, (deviceId) => {
    woken.push(deviceId);
    return new Promise((resolve, reject) => {
      answers.push((error) => (error === null ? resolve(outcomeOf(deviceId)) : reject(error)));
    });
  });
  return { clock, asleep, woken, reported, answers, stop };
}

test('a sleeping device is woken at each interval, and the outcome is reported', async () => {
  const { clock, woken, reported, answers } = stage(5000);
  clock.advance(9999);
  assert.deepEqual(woken, ['D1']);
  answers[0]?.(null);
  clock.advance(1);
  answers[1]?.(new Error('refused'));
  await untilIdle();
  assert.deepEqual(reported, ['D1 412', 'D1 refused']);
});

test('no device is woken while none sleeps, or 64 outcomes are pending', async () => {
  const { clock, asleep, woken, answers } = stage();
  asleep.deviceId = null;
  clock.advance(10_000);
  assert.deepEqual(woken, []);
  asleep.deviceId = 'D1';
  clock.advance(100_000);
  assert.equal(woken.length, 64);
  answers[0]?.(null);
  await untilIdle();
  clock.advance(1000);
  assert.equal(woken.length, 65);
});

test('after a stop no device is woken and no outcome is reported', async () => {
  const { clock, woken, reported, answers, stop } = stage();
  clock.advance(1000);
  stop();
  answers[0]?.(null);
  await untilIdle();
  clock.advance(10_000);
  assert.deepEqual([woken.length, reported, clock.pendingTimers], [1, [], 0]);
});
