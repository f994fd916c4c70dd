/** How often each application may do something. Source: decisions.md, Wakeup, Limits; issue 14. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import { ApplicationLimit } from '../../../../src/core/devices/request-limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { testApp } from '../../../support/fakes.ts';

const other = 'another-app' as ApplicationId;
const rate = { perSecond: 2, burst: 4 };

/** How many calls in a row are allowed. */
function allowed(limit: ApplicationLimit, appId = testApp): number {
  let count = 0;
  while (limit.take(appId) === 0) count += 1;
  return count;
}

test('a burst is allowed at once, then the rate, and the wait until the next is told', () => {
  const clock = new DrivenClock();
  const limit = new ApplicationLimit(clock, rate);
  assert.equal(allowed(limit), 4);
  assert.equal(limit.take(testApp), 500);
  clock.advance(499);
  assert.ok(limit.take(testApp) > 0);
  clock.advance(1);
  assert.equal(limit.take(testApp), 0);
  clock.advance(60_000);
  assert.equal(allowed(limit), 4);
});

test('what one application does is not counted for another', () => {
  const limit = new ApplicationLimit(new DrivenClock(), rate);
  allowed(limit);
  assert.equal(allowed(limit, other), 4);
});

test('who only asks uses nothing', () => {
  const limit = new ApplicationLimit(new DrivenClock(), rate);
  for (let asked = 0; asked < 10; asked++) assert.equal(limit.wait(testApp), 0);
  assert.equal(allowed(limit), 4);
});

test('the rate is shared among the members that live, and each may do one at least', () => {
  const clock = new DrivenClock();
  let members = 2;
  const limit = new ApplicationLimit(clock, rate, () => members);
  assert.equal(allowed(limit), 2);
  assert.equal(limit.take(testApp), 1000);
  members = 8;
  clock.advance(4000);
  assert.equal(allowed(limit), 1);
});

test('several at once are counted as many, all of them or none', () => {
  const clock = new DrivenClock();
  const limit = new ApplicationLimit(clock, rate);
  assert.equal(limit.take(testApp, 3), 0);
  assert.equal(limit.take(testApp, 3), 1000, 'until two more are there');
  assert.equal(allowed(limit), 1);
});

test('more at once than the burst are allowed when it is whole, and what was too many is owed', () => {
  const clock = new DrivenClock();
  const limit = new ApplicationLimit(clock, rate);
  assert.equal(limit.take(testApp, 10), 0);
  assert.equal(limit.take(testApp), 3500);
  clock.advance(3500);
  assert.equal(limit.take(testApp, 10), 1500);
  assert.equal(allowed(limit), 1);
});
