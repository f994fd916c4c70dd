/** Walks through all items after a change of the registry. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryReview } from '../../../../src/core/devices/registry-review.ts';
import { reviewPauseMs, reviewWorkPerTurn } from '../../../../src/model/limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly judged: number[] = [];
  readonly items: Set<number>;
  /** Items that are no longer allowed. */
  forbidden: (item: number) => boolean = () => false;
  failure: Error | null = null;
  readonly review: RegistryReview<number>;

  constructor(count: number) {
    this.items = new Set(Array.from({ length: count }, (_, item) => item));
    this.review = new RegistryReview(this, {
      all: () => this.items.values(),
      judge: (item) => {
        if (this.failure !== null) throw this.failure;
        this.judged.push(item);
        return this.forbidden(item) && this.items.delete(item);
      },
    });
  }
}

test('few items are judged at once, and again with each change', () => {
  const scene = new Scene(3);
  scene.review.begin();
  assert.deepEqual(scene.judged, [0, 1, 2]);
  scene.clock.advance(reviewPauseMs);
  scene.review.begin();
  assert.deepEqual(scene.judged, [0, 1, 2, 0, 1, 2]);
});

test('after an empty walk, new items are judged at once with the next change', () => {
  const scene = new Scene(0);
  scene.review.begin();
  scene.items.add(7);
  scene.review.begin();
  assert.deepEqual(scene.judged, [7]);
});

test('many items are judged in slices, each once', () => {
  const scene = new Scene(reviewWorkPerTurn * 2 + 1);
  scene.review.begin();
  assert.equal(scene.judged.length, reviewWorkPerTurn);
  scene.clock.advance(0);
  assert.equal(scene.judged.length, scene.items.size);
  assert.equal(new Set(scene.judged).size, scene.items.size);
});

test('ended items take more of a turn', () => {
  const scene = new Scene(reviewWorkPerTurn);
  scene.forbidden = () => true;
  scene.review.begin();
  assert.ok(scene.judged.length < reviewWorkPerTurn / 5 && scene.judged.length > 0);
  scene.clock.advance(0);
  assert.deepEqual([scene.items.size, scene.judged.length], [0, reviewWorkPerTurn]);
});

test('changes during a walk are followed by one more walk, after a pause', () => {
  const scene = new Scene(reviewWorkPerTurn + 2);
  scene.review.begin();
  // An item that was judged already is forbidden now, and the current walk does not return to it.
  scene.forbidden = (item) => item === 0;
  scene.review.begin();
  scene.review.begin();
  assert.equal(scene.judged.length, reviewWorkPerTurn, 'the one under way goes on in its own time');
  scene.clock.advance(0);
  assert.ok(scene.items.has(0));
  scene.clock.advance(reviewPauseMs);
  assert.ok(!scene.items.has(0));
  scene.clock.advance(10 * reviewPauseMs);
  assert.equal(scene.judged.length, 2 * (reviewWorkPerTurn + 2));
});

test('very many changes do not delay a walk: all items are judged within its turns', () => {
  const scene = new Scene(reviewWorkPerTurn * 3);
  for (let turn = 0; turn < 3; turn++) {
    scene.review.begin();
    scene.clock.advance(0);
  }
  assert.equal(new Set(scene.judged).size, scene.items.size);
});

test('items may be added and removed during a walk', () => {
  const scene = new Scene(reviewWorkPerTurn + 10);
  scene.review.begin();
  for (let item = 0; item < reviewWorkPerTurn + 5; item++) scene.items.delete(item);
  scene.items.add(-1);
  scene.clock.advance(0);
  assert.equal(scene.judged.length, reviewWorkPerTurn + 6);
});

test('an unreadable registry ends no item, and the next change starts a walk again', () => {
  const scene = new Scene(3);
  scene.forbidden = () => true;
  scene.failure = new Error('gone');
  scene.review.begin();
  assert.equal(scene.items.size, 3);
  assert.equal(scene.log.lines.length, 1);
  scene.failure = null;
  scene.review.begin();
  scene.clock.advance(reviewPauseMs);
  assert.equal(scene.items.size, 0);
});

test('a stopped review reads nothing', () => {
  const scene = new Scene(reviewWorkPerTurn + 1);
  scene.review.begin();
  scene.review.stop();
  scene.review.begin();
  scene.clock.advance(10 * reviewPauseMs);
  assert.deepEqual([scene.judged.length, scene.clock.pendingTimers], [reviewWorkPerTurn, 0]);
});
