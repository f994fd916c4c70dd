import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../../../src/lib/clock.ts';
import { Metronome } from '../../../../src/tools/bridge/bridge-playback.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

function beating(perSecond: number, onHeartbeat: (clock: DrivenClock) => void = () => undefined) {
  const clock = new DrivenClock();
  const heartbeats: number[] = [];
  const metronome = new Metronome(clock, perSecond, (atMs) => {
    heartbeats.push(Math.round(atMs));
    onHeartbeat(clock);
  });
  return { clock, heartbeats, metronome };
}

test('heartbeats fall at their moments, each of them once', () => {
  const { clock, heartbeats } = beating(15);
  clock.advance(0);
  assert.deepEqual(heartbeats, [0], 'the first one at once');
  for (let ms = 1; ms <= 200; ms += 1) clock.advance(1);
  assert.deepEqual(heartbeats, [0, 67, 133, 200]);
});

test('a second of 15 heartbeats has 15, and an hour of them 54 000, whatever fractions add up to', () => {
  const { clock, heartbeats, metronome } = beating(15);
  clock.advance(3_600_000 - 1);
  assert.equal(heartbeats.length, 54_000);
  assert.equal(metronome.missed, 0);
});

/** Whose timers come when the test says, early or late. */
function looseClock() {
  const due: (() => void)[] = [];
  const scene = { nowMs: 0, fire: () => due.shift()?.() };
  const clock: Clock = {
    monotonicMs: () => scene.nowMs,
    wallMs: () => scene.nowMs,
    after: (_delayMs, run) => {
      due.push(run);
      return () => undefined;
    },
    every: () => () => undefined,
  };
  return { scene, clock };
}

test('what was late is made up for by leaving out, not by a burst', () => {
  const { scene, clock } = looseClock();
  const heartbeats: number[] = [];
  const metronome = new Metronome(clock, 10, (atMs) => {
    heartbeats.push(atMs);
    if (atMs === 0) scene.nowMs = 350;
  });
  scene.fire();
  scene.fire();
  assert.deepEqual(heartbeats, [0, 300], 'the one that is due now, late');
  scene.fire();
  scene.nowMs = 400;
  scene.fire();
  assert.deepEqual(heartbeats, [0, 300, 400], 'and again in step');
  assert.equal(metronome.missed, 2);
});

test('a timer that comes early finds nothing due', () => {
  const { scene, clock } = looseClock();
  const heartbeats: number[] = [];
  void new Metronome(clock, 10, (atMs) => heartbeats.push(atMs));
  scene.fire();
  scene.nowMs = 99.5;
  scene.fire();
  assert.deepEqual(heartbeats, [0]);
  scene.nowMs = 100;
  scene.fire();
  assert.deepEqual(heartbeats, [0, 100]);
});

test('none falls after it was stopped, not even by the heartbeat that stops it', () => {
  const scene = beating(10, () => scene.metronome.stop());
  scene.clock.advance(1000);
  assert.deepEqual(scene.heartbeats, [0]);
  assert.equal(scene.clock.pendingTimers, 0);
});
