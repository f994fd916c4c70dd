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

  note(times: number, answer: AnsweredRequest | ((number: number) => AnsweredRequest)): void {
    for (let number = 0; number < times; number++)
      this.requests.note(typeof answer === 'function' ? answer(number) : answer);
  }

  get count(): number {
    return this.log.lines.length;
  }
}

test('one application fills its share of a second, another still has its own, and what is left out is counted', () => {
  const scene = new Scene();
  scene.note(refusalLineLimits.ofApplicationMax + 7, refused);
  scene.note(1, { ...refused, appId: otherApp });
  assert.equal(scene.count, refusalLineLimits.ofApplicationMax + 1);
  scene.clock.advance(1000);
  assert.deepEqual(scene.log.lines.at(-1), {
    level: 'info',
    fields: { left_out: 7 },
    message: 'refused requests that are not in the log: too many in a second',
  });
  scene.note(1, refused);
  assert.equal(scene.count, refusalLineLimits.ofApplicationMax + 3);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('strangers who claim to be thousands of applications share one small part', () => {
  const scene = new Scene();
  scene.note(5000, (number) => ({ ...refused, appId: null, claimedAppId: `app-${number}` }));
  assert.equal(scene.count, refusalLineLimits.unprovenMax);
  scene.note(1, refused);
  assert.equal(scene.count, refusalLineLimits.unprovenMax + 1);
});

test('all together log so many lines in a second', () => {
  const scene = new Scene();
  scene.note(2 * refusalLineLimits.max, (number) => ({
    ...refused,
    appId: `app-${number}` as ApplicationId,
  }));
  assert.equal(scene.count, refusalLineLimits.max);
});

test('successes are bounded too, and take no line from what is refused', () => {
  const scene = new Scene();
  scene.note(successLineLimits.ofApplicationMax + 3, answered);
  assert.equal(scene.count, successLineLimits.ofApplicationMax);
  scene.note(1, refused);
  assert.equal(scene.count, successLineLimits.ofApplicationMax + 1);
  scene.clock.advance(1000);
  assert.deepEqual(scene.log.lines.at(-1)?.fields, { left_out: 3 });
});

test('who claims to be no application leaves nothing, and who claims what is none is not quoted', () => {
  const scene = new Scene();
  scene.note(1, { ...refused, appId: null, claimedAppId: '' });
  assert.equal(scene.count, 0);
  scene.note(1, { ...refused, appId: null, claimedAppId: 'x'.repeat(300) });
  const fields = scene.log.lines.map((line) => line.fields as Record<string, unknown>);
  assert.deepEqual(
    fields.map(({ claimed_app_id: claimed }) => claimed),
    [null],
  );
});
