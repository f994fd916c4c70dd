import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnsweredWakeups, type WakeupAnswered } from '../../../../src/core/wakeups/answered-wakeups.ts';
import type { ApplicationId, RequestId } from '../../../../src/model/ids.ts';
import {
  RequestLog,
  refusalLineLimits,
  refusalReasonCharactersMax,
} from '../../../../src/core/requests/request-log.ts';
import type { RefusedWakeup } from '../../../../src/model/wakeup.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, otherApp, testApp, testDevice } from '../../../support/fakes.ts';

const requestId = 'r-1' as RequestId;

function refusal(changes: Partial<RefusedWakeup> = {}): RefusedWakeup {
  return {
    atMs: 0,
    requestId,
    appId: testApp,
    isProven: true,
    deviceId: testDevice,
    code: 40412,
    reason: 'device is not connected',
    ...changes,
  };
}

/** The answer that is recorded as this refusal. */
function answer({ requestId, appId, isProven, deviceId, code, reason }: RefusedWakeup): WakeupAnswered {
  const proven = isProven ? appId : null;
  const reply = { code, message: reason };
  return { requestId, appId: proven, claimedAppId: appId ?? '', deviceId, reply, http: null };
}

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  /** A refused wakeup is logged even if requests are not. */
  readonly answered: AnsweredWakeups;

  constructor(kept?: { readonly max: number; readonly ofOwnerMax: number }) {
    const requests = new RequestLog('off', this.clock, this.log);
    this.answered = new AnsweredWakeups(this.clock, this.log, requests, kept);
  }

  /** Lines of a level without those of devices. */
  lines(level = 'info'): object[] {
    return this.log.lines.filter((line) => line.level === level).map(({ fields }) => fields);
  }
}

test('a refused wakeup is one line at info with its request id, application, code and reason, and its device at debug', () => {
  const { answered, log } = new Scene();
  answered.record(answer(refusal()));
  assert.deepEqual(log.lines, [
    {
      level: 'info',
      fields: { request_id: 'r-1', app_id: testApp, code: 40412, reason: 'device is not connected' },
      message: 'wakeup refused',
    },
    {
      level: 'debug',
      fields: { request_id: 'r-1', app_id: testApp, device_id: testDevice },
      message: 'wakeup refused: the device',
    },
  ]);
});

test('an accepted wakeup is a line at debug alone', () => {
  const scene = new Scene();
  scene.answered.record({ ...answer(refusal()), reply: { code: 0, message: 'success' } });
  assert.deepEqual([scene.lines().length, scene.lines('debug').length], [0, 1]);
  assert.deepEqual(scene.answered.refusals.list(requestId, null, 10), []);
});

test('an unauthenticated application is logged as claimed, and a reason is truncated', () => {
  const scene = new Scene();
  scene.answered.record(
    answer(refusal({ isProven: false, code: 40105, deviceId: null, reason: 'x'.repeat(1000) })),
  );
  const reason = 'x'.repeat(refusalReasonCharactersMax);
  assert.deepEqual(scene.lines(), [{ request_id: 'r-1', claimed_app_id: testApp, code: 40105, reason }]);
});

test('refused wakeups are found by request id and device, the latest first, also those that were left out of the log', () => {
  const scene = new Scene();
  for (let i = 0; i < refusalLineLimits.ofApplicationMax; i++)
    scene.answered.record(answer(refusal({ requestId: `other-${i}` as RequestId })));
  scene.answered.record(answer(refusal()));
  scene.clock.advance(5);
  scene.answered.record(answer(refusal({ deviceId: null, code: 40003 })));
  const codes = (deviceId: typeof testDevice | null, limit = 10): number[] =>
    scene.answered.refusals.list(requestId, deviceId, limit).map(({ code }) => code);
  assert.deepEqual([codes(null), codes(testDevice), codes(null, 1)], [[40003, 40412], [40412], [40003]]);
});

test('an application that floods forgets its own refused wakeups, not those of others', () => {
  const kept = new Scene({ max: 10, ofOwnerMax: 4 }).answered.refusals;
  kept.record(refusal({ appId: otherApp }));
  for (let i = 0; i < 100; i++) kept.record(refusal({ atMs: i }));
  const found = kept.list(requestId, null, 100);
  assert.deepEqual(
    found.map(({ atMs, appId }) => [atMs, appId]),
    [99, 98, 97, 96].map((atMs) => [atMs, testApp]).concat([[0, otherApp]]),
  );
});

test('at the total limit, those of the application that was refused longest ago go first', () => {
  const kept = new Scene({ max: 4, ofOwnerMax: 2 }).answered.refusals;
  for (const app of ['a', 'b', 'a', 'b', 'c', 'c', 'c'])
    kept.record(refusal({ appId: app as ApplicationId }));
  const apps = kept.list(requestId, null, 100).map(({ appId }) => appId);
  assert.deepEqual(
    apps.map(String).toSorted((one, other) => (one < other ? -1 : 1)),
    ['b', 'b', 'c', 'c'],
  );
});
