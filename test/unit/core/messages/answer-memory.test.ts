import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AnswerMemory } from '../../../../src/core/messages/answer-memory.ts';
import { succeed, type Result } from '../../../../src/lib/result.ts';
import type { Refusal } from '../../../../src/model/codes.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const windowMs = 300_000;
const hourMs = 3600_000;

interface Captured {
  readonly signature: string;
  readonly dateMs: number;
}

/** A server that executes requests dated within the window, and remembers them. */
class Scene {
  readonly clock = new DrivenClock();
  readonly memory = new AnswerMemory<Result<number, Refusal>>(this.clock, 100);
  readonly done = new Map<string, number>();
  #signatures = 0;

  /** Signed by a backend with this clock offset from the server. */
  sign(offMs = 0): Captured {
    this.#signatures += 1;
    return {
      signature: this.#signatures.toString(16).padStart(64, '0'),
      dateMs: Math.floor((this.clock.wallMs() + offMs) / 1000) * 1000,
    };
  }

  send({ signature, dateMs }: Captured): 'done' | 'repeated' | 'full' | 'outside' {
    if (Math.abs(this.clock.wallMs() - dateMs) > windowMs) return 'outside';
    const request = { signature, signatureExpiresMs: dateMs + windowMs };
    if (this.memory.repeated(request) !== null) return 'repeated';
    if (!this.memory.hasRoomFor(request)) return 'full';
    this.done.set(signature, (this.done.get(signature) ?? 0) + 1);
    this.memory.keep(request, succeed(0));
    return 'done';
  }
}

test('a captured request stays known while the wall clock is an hour ahead and after it returns, and a new one is executed at once', () => {
  const scene = new Scene();
  const captured = scene.sign();
  assert.equal(scene.send(captured), 'done');
  scene.clock.stepWall(hourMs);
  assert.equal(scene.send(scene.sign()), 'done');
  assert.equal(scene.send(captured), 'outside');
  scene.clock.advance(60_000);
  scene.clock.stepWall(-hourMs);
  assert.equal(scene.send(captured), 'repeated');
  assert.equal(scene.send(scene.sign()), 'done', 'a new request of anybody');
});

test('a clock that was ahead for a day and is right again delays no new request', () => {
  const scene = new Scene();
  scene.clock.stepWall(40 * 24 * hourMs);
  scene.clock.advance(24 * hourMs);
  scene.clock.stepWall(-40 * 24 * hourMs);
  assert.equal(scene.send(scene.sign()), 'done');
});

test('a request with an expired signature is rejected after the wall clock steps back behind its date', () => {
  const scene = new Scene();
  const captured = scene.sign();
  assert.equal(scene.send(captured), 'done');
  scene.clock.advance(hourMs);
  assert.equal(scene.send(scene.sign()), 'done');
  scene.clock.stepWall(-hourMs);
  assert.equal(scene.send(captured), 'full');
  const later = scene.sign(1000);
  assert.equal(scene.send(later), 'done', 'it is dated after all that is forgotten');
});

test('a signature takes one place for as long as its date is within the window, and no longer', () => {
  const scene = new Scene();
  for (let i = 0; i < 100; i++) assert.equal(scene.send(scene.sign(-windowMs / 2)), 'done');
  assert.equal(scene.send(scene.sign()), 'full');
  scene.clock.advance(windowMs / 2 + 2000);
  assert.equal(scene.send(scene.sign()), 'done');
});

test('no walk of the wall clock makes a request take effect twice', () => {
  let repeats = 0;
  const step = fc.oneof(
    fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: hourMs / 6 }) }),
    fc.record({ kind: fc.constant('step' as const), ms: fc.integer({ min: -hourMs, max: hourMs }) }),
    fc.record({ kind: fc.constant('sign' as const), ms: fc.integer({ min: -windowMs, max: windowMs }) }),
  );
  const walk = (steps: readonly { kind: 'advance' | 'step' | 'sign'; ms: number }[]): void => {
    const scene = new Scene();
    const captured: Captured[] = [];
    for (const { kind, ms } of steps) {
      if (kind === 'advance') scene.clock.advance(ms);
      else if (kind === 'step') scene.clock.stepWall(ms);
      else captured.push(scene.sign(ms));
      for (const one of captured) if (scene.send(one) === 'repeated') repeats += 1;
    }
    for (const [signature, times] of scene.done) assert.equal(times, 1, signature);
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 40 }), walk), { numRuns: 500 });
  assert.ok(repeats > 500, `only ${repeats} repeats`);
});

test('a request is known by its own signature, though another one was looked up in between', () => {
  const scene = new Scene();
  const [first, second] = [scene.sign(), scene.sign()];
  assert.equal(scene.send(first), 'done');
  assert.equal(scene.send(second), 'done');
  assert.equal(scene.send(first), 'repeated');
  assert.equal(scene.send(second), 'repeated');
  assert.equal(scene.send(scene.sign()), 'done');
});
