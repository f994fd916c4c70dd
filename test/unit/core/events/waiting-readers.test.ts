import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WaitingReaders, type ReaderSlot } from '../../../../src/core/events/waiting-readers.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { otherApp, testApp } from '../../../support/fakes.ts';

interface Room {
  readonly clock: DrivenClock;
  readonly readers: WaitingReaders;
}

function room(limits: { max?: number; perApplicationMax?: number } = {}): Room {
  const clock = new DrivenClock();
  return { clock, readers: new WaitingReaders(clock, { max: 10, perApplicationMax: 10, ...limits }) };
}

function enter({ readers }: Room, appId = testApp): ReaderSlot {
  const slot = readers.enter(appId);
  assert.ok(slot !== null, 'there is room');
  return slot;
}

/** True if the wait has ended; checks once, after all due callbacks. */
async function isOver(wait: Promise<void>): Promise<boolean> {
  let over = false;
  void wait.then(() => {
    over = true;
  });
  await new Promise(setImmediate);
  return over;
}

test('a wait ends at its deadline and not before', async () => {
  const scene = room();
  const wait = enter(scene).wait(1000);
  scene.clock.advance(999);
  assert.equal(await isOver(wait), false);
  scene.clock.advance(1);
  assert.equal(await isOver(wait), true);
});

const ends: { name: string; end: (slot: ReaderSlot, scene: Room) => void }[] = [
  { name: 'a wake', end: (slot) => slot.wake() },
  { name: 'leaving', end: (slot) => slot.leave() },
  { name: 'a drain', end: (_, { readers }) => readers.wakeAll() },
];
for (const { name, end } of ends) {
  test(`${name} ends a wait at once and leaves no timer behind`, async () => {
    const scene = room();
    const slot = enter(scene);
    const wait = slot.wait(30_000);
    end(slot, scene);
    assert.equal(await isOver(wait), true);
    assert.equal(scene.clock.pendingTimers, 0);
  });

  test(`${name} before a wait ends it at once`, async () => {
    const scene = room();
    const slot = enter(scene);
    end(slot, scene);
    assert.equal(await isOver(slot.wait(30_000)), true);
  });
}

test('a wake counts for one wait', async () => {
  const scene = room();
  const slot = enter(scene);
  slot.wake();
  slot.wake();
  await slot.wait(30_000);
  assert.equal(await isOver(slot.wait(30_000)), false);
  scene.clock.advance(30_000);
});

test('a wait of zero time ends at once', async () => {
  assert.equal(await isOver(enter(room()).wait(0)), true);
});

test('after a drain each wait of a new caller ends at once', async () => {
  const scene = room();
  scene.readers.wakeAll();
  const slot = enter(scene);
  assert.equal(await isOver(slot.wait(30_000)), true);
  assert.equal(await isOver(slot.wait(30_000)), true);
});

test('a wake affects one slot only', async () => {
  const scene = room();
  const [one, two] = [enter(scene), enter(scene)];
  const [first, second] = [one.wait(1000), two.wait(1000)];
  one.wake();
  assert.deepEqual([await isOver(first), await isOver(second)], [true, false]);
  scene.clock.advance(1000);
});

test('a slot waits for one thing at a time', async () => {
  const scene = room();
  const slot = enter(scene);
  const wait = slot.wait(1000);
  await assert.rejects(slot.wait(1000), /one thing at a time/);
  slot.leave();
  await wait;
});

test('one application fills its own slots only, and all applications together the total', () => {
  const { readers } = room({ max: 3, perApplicationMax: 2 });
  assert.ok(readers.enter(testApp));
  assert.ok(readers.enter(testApp));
  assert.equal(readers.enter(testApp), null);
  assert.ok(readers.enter(otherApp));
  assert.equal(readers.enter(otherApp), null);
});

test('leaving a slot frees it, once', () => {
  const scene = room({ max: 3, perApplicationMax: 2 });
  const slot = enter(scene);
  enter(scene);
  slot.leave();
  slot.leave();
  assert.ok(scene.readers.enter(testApp));
  assert.equal(scene.readers.enter(testApp), null);
  assert.equal(scene.readers.size, 2);
});
