import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BusyWindow } from '../../../../src/media/transcoding/busy-window.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

/** Work of `workMs` at the end of each of `seconds` seconds. */
function workSeconds(window: BusyWindow, clock: DrivenClock, seconds: number, workMs: number): void {
  for (let second = 0; second < seconds; second++) {
    clock.advance(999);
    window.add(workMs);
    clock.advance(1);
  }
}

test('a window that was never worked in is idle', () => {
  const window = new BusyWindow(new DrivenClock());

  assert.equal(window.share(), 0);
  assert.ok(!window.isSteady());
});

test('even work has its share wherever in a second it is looked at', () => {
  const clock = new DrivenClock();
  const window = new BusyWindow(clock);

  for (let tick = 0; tick < 80; tick++) {
    clock.advance(100);
    window.add(25);
    if (tick >= 50) assert.ok(Math.abs(window.share() - 0.25) < 0.01, `${tick}: ${window.share()}`);
  }
});

test('a window younger than its length counts what was before it as idle', () => {
  const clock = new DrivenClock();
  const window = new BusyWindow(clock);
  clock.advance(1000);
  window.add(400);

  assert.equal(window.share(), 0.1);
});

test('what was worked more than five seconds ago is forgotten, also after a long pause', () => {
  for (const pauseMs of [5000, 7000, 3_600_000]) {
    const clock = new DrivenClock();
    const window = new BusyWindow(clock);
    workSeconds(window, clock, 5, 500);
    assert.ok(window.share() > 0.4);

    clock.advance(pauseMs);

    assert.equal(window.share(), 0);
  }
});

test('more work than there is time is a share of 1', () => {
  const clock = new DrivenClock();
  const window = new BusyWindow(clock);
  workSeconds(window, clock, 5, 3000);

  assert.equal(window.share(), 1);
});

test('it is steady while every second of it has work', () => {
  const clock = new DrivenClock();
  const window = new BusyWindow(clock);
  workSeconds(window, clock, 4, 1);
  assert.ok(!window.isSteady());
  window.add(1);
  assert.ok(window.isSteady());

  clock.advance(2000);
  window.add(1);

  assert.ok(!window.isSteady());
});
