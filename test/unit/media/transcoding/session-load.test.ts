import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionLoad } from '../../../../src/media/transcoding/session-load.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

/** Ten frames a second. */
function send(load: SessionLoad, clock: DrivenClock, seconds: number, workMs: number): void {
  for (let frame = 0; frame < seconds * 10; frame++) {
    load.add(workMs);
    clock.advance(100);
  }
}

function assertNear(share: number, expected: number): void {
  assert.ok(Math.abs(share - expected) < 0.01, `${share} is not near ${expected}`);
}

test('a session that has sent nothing keeps its reservation', () => {
  const clock = new DrivenClock();
  const load = new SessionLoad(clock, 0.3);
  clock.advance(3_600_000);

  assert.equal(load.share, 0.3);
});

test('a session that sends little for a moment keeps its reservation, and has what it took once it has sent throughout', () => {
  const clock = new DrivenClock();
  const load = new SessionLoad(clock, 0.3);
  send(load, clock, 3, 10);
  assert.equal(load.share, 0.3);

  send(load, clock, 4, 10);

  assertNear(load.share, 0.1);
});

test('what a session takes beyond its reservation counts at once', () => {
  const clock = new DrivenClock();
  const load = new SessionLoad(clock, 0.1);
  send(load, clock, 3, 50);

  assert.ok(load.share > 0.2, `${load.share}`);
});

test('a session that pauses keeps what it had, though it sends a frame now and then', () => {
  const clock = new DrivenClock();
  const load = new SessionLoad(clock, 0.3);
  send(load, clock, 7, 20);

  clock.advance(60_000);
  load.add(20);

  assertNear(load.share, 0.2);
});

test('a session that grows or shrinks is counted anew', () => {
  const clock = new DrivenClock();
  const load = new SessionLoad(clock, 0.3);
  send(load, clock, 7, 20);
  send(load, clock, 6, 40);
  assertNear(load.share, 0.4);

  send(load, clock, 6, 10);

  assertNear(load.share, 0.1);
});
