import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  RequestLog,
  refusalLineLimits,
  successLineLimits,
  type AnsweredRequest,
} from '../../../../src/core/requests/request-log.ts';
import type { ApplicationId, RequestId } from '../../../../src/model/ids.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, otherApp, testApp } from '../../../support/fakes.ts';

const refused: AnsweredRequest = {
  requestId: 'r-1' as RequestId,
  appId: testApp,
  claimedAppId: testApp,
  reply: { code: 40412, message: 'device is not connected' },
  http: { route: 'connectivity', status: 200, seconds: 0.001 },
};
const answered: AnsweredRequest = { ...refused, reply: { code: 0, message: 'success' } };

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly requests = new RequestLog('all', this.clock, this.log);

  record(times: number, answer: AnsweredRequest | ((number: number) => AnsweredRequest)): void {
    for (let number = 0; number < times; number++)
      this.requests.record(typeof answer === 'function' ? answer(number) : answer);
  }

  get count(): number {
    return this.log.lines.length;
  }
}

test('one application fills its share of a second, another still has its own, and omitted lines are counted', () => {
  const scene = new Scene();
  scene.record(refusalLineLimits.ofApplicationMax + 7, refused);
  scene.record(1, { ...refused, appId: otherApp });
  assert.equal(scene.count, refusalLineLimits.ofApplicationMax + 1);
  scene.clock.advance(1000);
  assert.deepEqual(scene.log.lines.at(-1), {
    level: 'info',
    fields: { left_out: 7 },
    message: 'refused requests not logged: too many in a second',
  });
  scene.record(1, refused);
  assert.equal(scene.count, refusalLineLimits.ofApplicationMax + 3);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('unauthenticated requests that claim thousands of applications share one small part', () => {
  const scene = new Scene();
  scene.record(5000, (number) => ({ ...refused, appId: null, claimedAppId: `app-${number}` }));
  assert.equal(scene.count, refusalLineLimits.unprovenMax);
  scene.record(1, refused);
  assert.equal(scene.count, refusalLineLimits.unprovenMax + 1);
});

test('the total number of lines per second is bounded', () => {
  const scene = new Scene();
  scene.record(2 * refusalLineLimits.max, (number) => ({
    ...refused,
    appId: `app-${number}` as ApplicationId,
  }));
  assert.equal(scene.count, refusalLineLimits.max);
});

test('successes are bounded as well, and take no line from refusals', () => {
  const scene = new Scene();
  scene.record(successLineLimits.ofApplicationMax + 3, answered);
  assert.equal(scene.count, successLineLimits.ofApplicationMax);
  scene.record(1, refused);
  assert.equal(scene.count, successLineLimits.ofApplicationMax + 1);
  scene.clock.advance(1000);
  assert.deepEqual(scene.log.lines.at(-1)?.fields, { left_out: 3 });
});

test('a request that claims no application is not logged, and an invalid claim is not quoted', () => {
  const scene = new Scene();
  scene.record(1, { ...refused, appId: null, claimedAppId: '' });
  assert.equal(scene.count, 0);
  scene.record(1, { ...refused, appId: null, claimedAppId: 'x'.repeat(300) });
  const fields = scene.log.lines.map((line) => line.fields as Record<string, unknown>);
  assert.deepEqual(
    fields.map(({ claimed_app_id: claimed }) => claimed),
    [null],
  );
});
