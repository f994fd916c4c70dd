import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BusyWindow, FrameCost, SessionLoad } from '../../../../src/media/transcoding/transcoder-load.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

/** Work of `workMs` at the end of each of `seconds` seconds. */
function workSeconds(window: BusyWindow, clock: DrivenClock, seconds: number, workMs: number): void {
  for (let second = 0; second < seconds; second++) {
    clock.advance(999);
    window.add(workMs);
    clock.advance(1);
  }
}

test('steady work has its share at any time within a second', () => {
  const clock = new DrivenClock();
  const window = new BusyWindow(clock);

  for (let tick = 0; tick < 80; tick++) {
    clock.advance(100);
    window.add(25);
    if (tick >= 50) assert.ok(Math.abs(window.share() - 0.25) < 0.01, `${tick}: ${window.share()}`);
  }
});

test('a window younger than its length counts the time before as idle', () => {
  const clock = new DrivenClock();
  const window = new BusyWindow(clock);
  clock.advance(1000);
  window.add(400);

  assert.equal(window.share(), 0.1);
});

test('work of more than five seconds ago is forgotten, also after a long pause', () => {
  for (const pauseMs of [5000, 7000, 3_600_000]) {
    const clock = new DrivenClock();
    const window = new BusyWindow(clock);
    workSeconds(window, clock, 5, 500);
    assert.ok(window.share() > 0.4);

    clock.advance(pauseMs);

    assert.equal(window.share(), 0);
  }
});

test('it is steady while every second has work', () => {
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

const vga = { width: 640, height: 480 };
const qvga = { width: 320, height: 240 };

function assertNear(share: number, expected: number): void {
  assert.ok(Math.abs(share / expected - 1) < 0.02, `${share} is not near ${expected}`);
}

test('before any frame, 640 by 480 at 15 frames a second is 1.3 ms each', () => {
  assertNear(new FrameCost().share({ request: vga, maxFps: 15 }), 0.0195);
});

test('it approaches the cost of recent frames, by pixels', () => {
  const cost = new FrameCost();
  for (let pair = 0; pair < 5000; pair++) {
    cost.add(vga, 4);
    cost.add(qvga, 1);
  }

  assertNear(cost.share({ request: vga, maxFps: 10 }), 0.04);
  assertNear(cost.share({ request: qvga, maxFps: 10 }), 0.01);
});

/** Ten frames a second. */
function send(load: SessionLoad, clock: DrivenClock, seconds: number, workMs: number): void {
  for (let frame = 0; frame < seconds * 10; frame++) {
    load.add(workMs);
    clock.advance(100);
  }
}

function assertNearShare(share: number, expected: number): void {
  assert.ok(Math.abs(share - expected) < 0.01, `${share} is not near ${expected}`);
}

test('a session that pauses keeps its share, though it sends a frame now and then', () => {
  const clock = new DrivenClock();
  const load = new SessionLoad(clock, 0.3);
  send(load, clock, 7, 20);

  clock.advance(60_000);
  load.add(20);

  assertNearShare(load.share, 0.2);
});

test('a session that grows or shrinks is measured again', () => {
  const clock = new DrivenClock();
  const load = new SessionLoad(clock, 0.3);
  send(load, clock, 7, 20);
  send(load, clock, 6, 40);
  assertNearShare(load.share, 0.4);

  send(load, clock, 6, 10);

  assertNearShare(load.share, 0.1);
});
