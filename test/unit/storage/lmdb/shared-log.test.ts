import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { refreshLogMs, refreshLogSlice } from '../../../../src/storage/lmdb/store-limits.ts';
import type { DrivenClock } from '../../../support/driven-clock.ts';
import { openSharedMembers, type SharedMember } from '../../../support/shared-member.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';
import { draftOf } from '../../../support/test-journal.ts';

const device = 'TESTDEVICE01' as DeviceId;

function twoMembers(t: TestContext): [SharedMember, SharedMember] {
  const [one, other] = openSharedMembers(t, join(temporaryDirectory(t), 'data'), ['1', '2']);
  assert(one !== undefined && other !== undefined);
  return [one, other];
}

async function append(deps: SharedMember, count: number): Promise<void> {
  for (let i = 1; i <= count; i++) deps.events.append(draftOf(device, i));
  await deps.committed();
}

const sequencesOf = ({ followed }: SharedMember): number[] => followed.map(({ sequence }) => sequence);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

test('events of another process are told when it says that there are some', async (t) => {
  const [one, other] = twoMembers(t);
  await append(one, 3);
  assert.deepEqual([other.events.head, sequencesOf(other)], [0, []]);
  other.events.refresh();
  assert.deepEqual([other.events.head, sequencesOf(other)], [3, upTo(3)]);
  assert.deepEqual(other.events.read(0, 10), one.events.read(0, 10));
});

test('while nobody follows, only the head is kept, and who follows later misses nothing behind it', async (t) => {
  const [one, other] = twoMembers(t);
  const listener = { begun: t.mock.fn(), ended: t.mock.fn() };
  const { events } = other;
  events.shareWith(listener);
  other.unfollow();
  assert.equal(listener.ended.mock.callCount(), 1);
  await append(one, 3);
  events.refresh();
  await append(other, 1);
  assert.deepEqual([events.head, sequencesOf(other)], [4, []]);
  await append(one, 2);
  events.catchUp();
  assert.equal(events.head, 6);
  await append(one, 1);
  const told: number[] = [];
  const tail = new Promise<void>((resolve) => {
    events.follow((batch) => {
      told.push(...batch.map(({ sequence }) => sequence));
      if (told.includes(7)) resolve();
    });
  });
  assert.equal(listener.begun.mock.callCount(), 1);
  await tail;
  assert.deepEqual(told, [7]);
  assert.deepEqual(
    events.read(0, 10).map(({ sequence }) => sequence),
    upTo(7),
  );
});

test('events of another process are told before own ones that are behind them, each once', async (t) => {
  const [one, other] = twoMembers(t);
  for (let round = 0; round < 5; round++) {
    await append(one, 2);
    await append(other, 3);
  }
  one.events.refresh();
  for (const deps of [one, other]) assert.deepEqual(sequencesOf(deps), upTo(25));
  assert.deepEqual(
    one.followed.map(({ seq }) => seq),
    upTo(25),
  );
});

test('a notice that was lost costs a second', async (t) => {
  const [one, other] = twoMembers(t);
  const clock = other.clock as DrivenClock;
  t.after(other.events.start(clock));
  await append(one, 1);
  clock.advance(refreshLogMs - 1);
  assert.deepEqual(sequencesOf(other), []);
  clock.advance(1);
  assert.deepEqual(sequencesOf(other), [1]);
});

test('a process that is far behind reads on a slice a turn, and misses nothing', async (t) => {
  const [one, other] = twoMembers(t);
  const count = refreshLogSlice * 3 + 7;
  await append(one, count);
  const slices: number[] = [];
  const told = new Promise<void>((resolve) => {
    other.events.follow((events) => {
      slices.push(events.length);
      if (other.events.head === count) resolve();
    });
  });
  other.events.refresh();
  other.events.refresh();
  assert.deepEqual(slices, [refreshLogSlice]);
  await told;
  assert.deepEqual(slices, [refreshLogSlice, refreshLogSlice, refreshLogSlice, 7]);
  assert.deepEqual(sequencesOf(other), upTo(count));
});

test('own events come in their place while a process reads on', async (t) => {
  const [one, other] = twoMembers(t);
  await append(one, refreshLogSlice * 2);
  other.events.refresh();
  await append(other, 2);
  while (other.events.head < refreshLogSlice * 2 + 2) await new Promise(setImmediate);
  assert.deepEqual(sequencesOf(other), upTo(refreshLogSlice * 2 + 2));
});

test('own events that are visible are told as own ones, also to who reads on before their turn', async (t) => {
  const [one] = twoMembers(t);
  one.login('sleep', device, 'a');
  while (one.events.head === 0) {
    await new Promise(setImmediate);
    one.events.refresh();
  }
  await one.committed();
  assert.deepEqual(one.told, ['taken a 1', 'event 1 1', 'grew']);
});

test('what another process forgot is gone here too, and events that were never seen here leave no false page', async (t) => {
  const [one, other] = twoMembers(t);
  const clock = other.clock as DrivenClock;
  t.after(other.events.start(clock));
  await append(one, 4);
  other.events.refresh();
  await append(one, 4);
  const { environment, events } = one.store.state;
  await environment.transaction(() => {
    for (const key of Array.from(events.events.getKeys({ limit: 6 }))) void events.events.remove(key);
  });
  clock.advance(refreshLogMs);
  assert.deepEqual([other.events.oldest, other.events.head], [7, 8]);
  assert.deepEqual(sequencesOf(other), [1, 2, 3, 4, 7, 8]);
  assert.deepEqual(
    other.events.read(0, 10).map(({ sequence }) => sequence),
    [7, 8],
  );
});

test('a log that cannot be read is said, and is read when it can be', async (t) => {
  const [one, other] = twoMembers(t);
  await append(one, 1);
  const { events } = other.store.state;
  const broken = t.mock.method(events.events, 'getRange', () => {
    throw new Error('unreadable');
  });
  other.events.refresh();
  assert.equal(other.log.lines.length, 1);
  broken.mock.restore();
  other.events.refresh();
  assert.deepEqual(sequencesOf(other), [1]);
});
