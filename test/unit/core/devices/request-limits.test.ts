/** Rate limits per application. Source: decisions.md, Wakeup, Limits; issue 14. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import { ApplicationLimit } from '../../../../src/core/devices/request-limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { testApp } from '../../../support/fakes.ts';

const other = 'another-app' as ApplicationId;
const rate = { perSecond: 2, burst: 4 };

/** Number of consecutive calls that are allowed. */
function allowed(limit: ApplicationLimit, appId = testApp): number {
  let count = 0;
  while (limit.acquire(appId) === 0) count += 1;
  return count;
}

test('a burst is allowed at once, then the rate, and the wait until the next is returned', () => {
  const clock = new DrivenClock();
  const limit = new ApplicationLimit(clock, rate);
  assert.equal(allowed(limit), 4);
  assert.equal(limit.acquire(testApp), 500);
  clock.advance(499);
  assert.ok(limit.acquire(testApp) > 0);
  clock.advance(1);
  assert.equal(limit.acquire(testApp), 0);
  clock.advance(60_000);
  assert.equal(allowed(limit), 4);
});

test('requests of one application are not counted for another', () => {
  const limit = new ApplicationLimit(new DrivenClock(), rate);
  allowed(limit);
  assert.equal(allowed(limit, other), 4);
});

test('a query of the wait charges nothing', () => {
  const limit = new ApplicationLimit(new DrivenClock(), rate);
  for (let asked = 0; asked < 10; asked++) assert.equal(limit.wait(testApp), 0);
  assert.equal(allowed(limit), 4);
});

test('live members share the rate, and each has at least one token', () => {
  const clock = new DrivenClock();
  let members = 2;
  const limit = new ApplicationLimit(clock, rate, () => members);
  assert.equal(allowed(limit), 2);
  assert.equal(limit.acquire(testApp), 1000);
  members = 8;
  clock.advance(4000);
  assert.equal(allowed(limit), 1);
});

test('several requests at once are charged together, all or none', () => {
  const clock = new DrivenClock();
  const limit = new ApplicationLimit(clock, rate);
  assert.equal(limit.acquire(testApp, 3), 0);
  assert.equal(limit.acquire(testApp, 3), 1000, 'until two more are there');
  assert.equal(allowed(limit), 1);
});

test('more requests than the burst are allowed when it is full, and the rest is owed', () => {
  const clock = new DrivenClock();
  const limit = new ApplicationLimit(clock, rate);
  assert.equal(limit.acquire(testApp, 10), 0);
  assert.equal(limit.acquire(testApp), 3500);
  clock.advance(3500);
  assert.equal(limit.acquire(testApp, 10), 1500);
  assert.equal(allowed(limit), 1);
});
