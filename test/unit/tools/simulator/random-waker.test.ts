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

function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Wakes one so often. */
function stage(everyMs = 1000) {
  const clock = new DrivenClock();
  const asleep: { deviceId: string | null } = { deviceId: 'D1' };
  const woken: string[] = [];
  const told: string[] = [];
  const answers: ((error: Error | null) => void)[] = [];
  const fleet = { pickAsleep: () => asleep.deviceId };
  const report = {
    outcome: (outcome: WakeupOutcomeData) => void told.push(`${outcome.device_id} ${outcome.woke_after_ms}`),
    trouble: (deviceId: string, error: Error) => void told.push(`${deviceId} ${error.message}`),
  };
  const stop = wakeAtRandom(clock, everyMs, fleet, report, (deviceId) => {
    woken.push(deviceId);
    return new Promise((resolve, reject) => {
      answers.push((error) => (error === null ? resolve(outcomeOf(deviceId)) : reject(error)));
    });
  });
  return { clock, asleep, woken, told, answers, stop };
}

test('one that sleeps is woken now and then, and the outcome is told', async () => {
  const { clock, woken, told, answers } = stage(5000);
  clock.advance(9999);
  assert.deepEqual(woken, ['D1']);
  answers[0]?.(null);
  clock.advance(1);
  answers[1]?.(new Error('refused'));
  await settled();
  assert.deepEqual(told, ['D1 412', 'D1 refused']);
});

test('while no device sleeps, or 64 outcomes are awaited, none is woken', async () => {
  const { clock, asleep, woken, answers } = stage();
  asleep.deviceId = null;
  clock.advance(10_000);
  assert.deepEqual(woken, []);
  asleep.deviceId = 'D1';
  clock.advance(100_000);
  assert.equal(woken.length, 64);
  answers[0]?.(null);
  await settled();
  clock.advance(1000);
  assert.equal(woken.length, 65);
});

test('once stopped it wakes nobody and tells nothing', async () => {
  const { clock, woken, told, answers, stop } = stage();
  clock.advance(1000);
  stop();
  answers[0]?.(null);
  await settled();
  clock.advance(10_000);
  assert.deepEqual([woken.length, told, clock.pendingTimers], [1, [], 0]);
});
