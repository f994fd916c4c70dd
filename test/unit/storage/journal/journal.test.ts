import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import type { EventDraft, LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import type { Journal, JournalDeps } from '../../../../src/storage/journal/journal.ts';
import { JournalSlot } from '../../../../src/storage/journal/journal-slot.ts';
import type { CallsTransition } from '../../../../src/storage/journal/transition.ts';
import {
  betweenMsMax,
  collectMsMax,
  commitRetryMs,
  commitWritesMax,
  turnsBetweenMax,
  waitedTurnsMax,
} from '../../../../src/storage/lmdb/store-limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf, openJournal } from '../../../support/test-journal.ts';

type Put = readonly [slot: string, key: string, value: number];

/** A journal with scripted commits, and two slots that record what is put, batch by batch. */
function scripted(
  t: TestContext,
  { backlogMax = 10_000, ...deps }: Partial<Pick<JournalDeps, 'backlogMax' | 'loginsMax' | 'mayAccept'>> = {},
) {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  const health: string[] = [];
  const logins: boolean[] = [];
  const published: LoggedEvent[][] = [];
  const batches: Put[][] = [];
  const { journal } = openJournal(store, {
    clock,
    backlogMax,
    ...deps,
    onLogins: (areClosed) => logins.push(areClosed),
    onHealth: (failure) => health.push(failure === null ? 'healthy' : (failure as Error).message),
    batch: (write) =>
      commits.batch(() => {
        batches.push([]);
        write();
      }),
  });
  journal.onCommitted((events) => published.push([...events]));
  const slotNamed = (name: string): NumberSlot => new NumberSlot(journal, name, batches);
  return {
    store,
    clock,
    commits,
    health,
    logins,
    published,
    batches,
    journal,
    slot: slotNamed('a'),
    other: slotNamed('b'),
  };
}

class NumberSlot {
  readonly #slot: JournalSlot<CallsTransition & { readonly value: number }>;

  constructor(journal: Journal, name: string, batches: Put[][]) {
    this.#slot = new JournalSlot(journal, (key, { value }) => batches.at(-1)?.push([name, key, value]));
  }

  get(key: string): number | undefined {
    return this.#slot.get(key)?.value;
  }

  write(key: string, value: number, event: EventDraft | null, isAwaited: boolean): void {
    this.#slot.write(
      key,
      { kind: 'calls', deviceId: key as DeviceId, sessions: [], event, value },
      isAwaited,
    );
  }

  amend(key: string, value: number): void {
    this.#slot.amend(
      key,
      { kind: 'calls', deviceId: key as DeviceId, sessions: [], event: null, value },
      (newest) => ({ ...newest, value }),
    );
  }

  committed(key: string): Promise<void> | null {
    return this.#slot.committed(key);
  }
}

async function isSettled(promise: Promise<void> | null): Promise<boolean> {
  return Promise.race([promise?.then(() => true) ?? true, setImmediate(false)]);
}

test('a value is readable at once, reported when committed, and then dropped from memory', async (t) => {
  const { commits, batches, slot, journal } = scripted(t);
  slot.write('k', 1, null, true);
  assert.equal(slot.get('k'), 1);
  const committed = slot.committed('k');
  assert.equal(await isSettled(committed), false);
  await commits.succeed();
  await committed;
  assert.equal(slot.get('k'), undefined);
  assert.equal(slot.committed('k'), null);
  assert.equal(journal.backlog, 0);
  assert.deepEqual(batches, [[['a', 'k', 1]]]);
});

test('the writes of one turn form one batch, in order across tables, with every value of a key', async (t) => {
  const { commits, batches, slot, other } = scripted(t);
  slot.write('k', 1, null, true);
  other.write('k', 2, null, true);
  slot.write('k', 3, null, true);
  assert.equal(slot.get('k'), 3);
  assert.equal(other.get('k'), 2);
  await commits.succeed();
  assert.deepEqual(batches, [
    [
      ['a', 'k', 1],
      ['b', 'k', 2],
      ['a', 'k', 3],
    ],
  ]);
});

test('only the last value of a key in a batch is put as the last, also when the batch is retried', async (t) => {
  const { clock, commits, journal } = scripted(t);
  const puts: (readonly [key: string, place: number, isLast: boolean])[] = [];
  const slot = new JournalSlot<CallsTransition & { readonly place: number }>(journal, (key, value, isLast) =>
    puts.push([key, value.place, isLast]),
  );
  const write = (key: string, place: number): void => {
    const deviceId = key as DeviceId;
    slot.write(key, { kind: 'calls', deviceId, sessions: [], event: null, place }, true);
  };
  write('k', 1);
  write('other', 2);
  write('k', 3);
  await commits.fail();
  write('k', 4);
  clock.advance(commitRetryMs);
  await commits.succeed();
  await commits.succeed();
  assert.deepEqual(puts, [
    ['k', 1, false],
    ['other', 2, true],
    ['k', 3, true],
    ['k', 4, true],
  ]);
});

test('writes during a commit form the next batch, one batch at a time', async (t) => {
  const { commits, batches, slot, other } = scripted(t);
  slot.write('k', 1, null, true);
  await commits.asked();
  const first = slot.committed('k');
  slot.write('k', 2, null, true);
  other.write('k', 1, null, true);
  await setImmediate();
  assert.equal(commits.waiting, 1);
  const newest = slot.committed('k');
  await commits.succeed();
  await first;
  assert.equal(slot.get('k'), 2);
  assert.equal(await isSettled(newest), false, 'the older value is committed, the newest is not');
  await commits.succeed();
  await newest;
  assert.equal(slot.get('k'), undefined);
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [1, 2],
  );
});

test('a long backlog is committed in bounded batches, oldest first', async (t) => {
  const { commits, batches, slot } = scripted(t);
  const count = 2 * commitWritesMax + 7;
  for (let i = 0; i < count; i++) slot.write(`${i % 10}`, i, null, true);
  const last = slot.committed('6');
  await commits.succeed();
  await commits.succeed();
  assert.equal(await isSettled(last), false);
  await commits.succeed();
  await last;
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [commitWritesMax, commitWritesMax, 7],
  );
  assert.deepEqual(
    batches.flat().map(([, , value]) => value),
    Array.from({ length: count }, (_, i) => i),
  );
});

/** Turns of the loop until the next commit is requested. */
async function turnsPassed({ waiting }: { waiting: () => number }): Promise<number> {
  let turns = 0;
  for (; waiting() === 0; turns += 1) await setImmediate();
  return turns;
}

/** Commits a batch of a hundred; one more entry with an event arrived meanwhile. */
async function afterBatchOfMany(t: TestContext) {
  const scene = scripted(t);
  const { commits, slot } = scene;
  for (let i = 0; i < 100; i++) slot.write(`${i}`, i, null, true);
  await commits.asked();
  slot.write('next', 1, draftOf('next'), true);
  await commits.succeed();
  return { ...scene, waiting: () => commits.waiting };
}

test('after a large batch, entries with events only wait some turns, so that more share a commit', async (t) => {
  const scene = await afterBatchOfMany(t);
  const turns = await turnsPassed(scene);
  assert.ok(turns > turnsBetweenMax - 8 && turns <= turnsBetweenMax + 1, `${turns} turns`);
});

test('after a large batch, awaited entries wait few turns, also if the caller comes later', async (t) => {
  const scene = await afterBatchOfMany(t);
  void scene.slot.committed('next');
  assert.ok((await turnsPassed(scene)) <= waitedTurnsMax + 1);
  const other = await afterBatchOfMany(t);
  for (let turn = 0; turn <= waitedTurnsMax; turn += 1) await setImmediate();
  assert.equal(other.commits.waiting, 0);
  void other.slot.committed('next');
  assert.ok((await turnsPassed(other)) <= 1);
});

test('after a large batch, the journal does not wait for long turns', async (t) => {
  const scene = await afterBatchOfMany(t);
  scene.clock.advance(betweenMsMax);
  assert.ok((await turnsPassed(scene)) <= 1);
});

test('`allCommitted` resolves once all earlier writes are committed, not later ones', async (t) => {
  const { commits, slot, journal } = scripted(t);
  await journal.allCommitted();
  slot.write('a', 1, null, true);
  await commits.asked();
  slot.amend('b', 1);
  const all = journal.allCommitted();
  await commits.succeed();
  assert.equal(await isSettled(all), false);
  await commits.asked();
  slot.write('c', 1, null, true);
  await commits.succeed();
  await all;
  assert.equal(slot.get('c'), 1);
  await commits.succeed();
  await journal.allCommitted();
});

test('a failing commit is retried whole every second, and no entry is lost', async (t) => {
  for (let failures = 1; failures <= 4; failures++) {
    const { clock, commits, batches, health, published, slot, journal } = scripted(t);
    slot.write('k', 1, draftOf('device'), true);
    slot.write('l', 1, null, true);
    const committed = slot.committed('k');
    await commits.asked();
    slot.write('l', 2, draftOf('device'), true);
    for (let i = 0; i < failures; i++) {
      await commits.fail();
      assert.equal(journal.isHealthy, false);
      assert.equal(slot.get('l'), 2);
      clock.advance(commitRetryMs - 1);
      assert.equal(commits.waiting, 0);
      clock.advance(1);
    }
    await commits.succeed();
    await committed;
    assert.equal(journal.isHealthy, true);
    await commits.succeed();
    assert.deepEqual(batches, [
      [
        ['a', 'k', 1],
        ['a', 'l', 1],
      ],
      [['a', 'l', 2]],
    ]);
    assert.deepEqual(
      published.flat().map(({ sequence, seq }) => [sequence, seq]),
      [
        [1, 1],
        [2, 2],
      ],
      'each is published once, with its first place',
    );
    assert.deepEqual(health, ['the disk is full', 'healthy']);
    assert.equal(journal.backlog, 0);
  }
});

test('writes during a refusal do not bring the retry forward', async (t) => {
  const { clock, commits, slot } = scripted(t);
  slot.write('k', 1, null, true);
  await commits.fail();
  slot.write('k', 2, null, true);
  void slot.committed('k');
  await setImmediate();
  assert.equal(commits.waiting, 0);
  clock.advance(commitRetryMs);
  await commits.succeed();
  await commits.succeed();
  assert.equal(slot.get('k'), undefined);
});

test('entries that no caller awaits collect, and are committed together after a moment', async (t) => {
  const { clock, commits, batches, slot } = scripted(t);
  slot.write('k', 1, null, false);
  clock.advance(collectMsMax - 1);
  slot.write('l', 1, null, false);
  await setImmediate();
  assert.equal(commits.waiting, 0);
  clock.advance(1);
  await commits.succeed();
  assert.equal(batches[0]?.length, 2);
  assert.equal(clock.pendingTimers, 0);
});

test('awaiting a collecting entry, or a later one, starts its commit', async (t) => {
  const { clock, commits, batches, slot, other } = scripted(t);
  slot.write('k', 1, null, false);
  const committed = slot.committed('k');
  await commits.succeed();
  await committed;
  slot.write('k', 2, null, false);
  other.write('l', 1, null, true);
  await commits.succeed();
  assert.deepEqual(batches[1], [
    ['a', 'k', 2],
    ['b', 'l', 1],
  ]);
  assert.equal(clock.pendingTimers, 0, 'no entry is collecting');
});

test('unawaited entries that arrive during a commit collect after it', async (t) => {
  const { clock, commits, slot } = scripted(t);
  slot.write('k', 1, null, true);
  await commits.asked();
  slot.write('k', 2, null, false);
  await commits.succeed();
  await setImmediate();
  assert.equal(commits.waiting, 0);
  clock.advance(collectMsMax);
  await commits.succeed();
  assert.equal(slot.get('k'), undefined);
});

test('a full batch is committed at once', async (t) => {
  const { commits, batches, slot } = scripted(t);
  for (let i = 0; i < commitWritesMax; i++) slot.write(`${i}`, i, null, false);
  await commits.succeed();
  assert.equal(batches[0]?.length, commitWritesMax);
});

test('an amended value merges into a waiting one, and follows one that is under way', async (t) => {
  const { clock, commits, batches, slot, journal } = scripted(t);
  slot.write('k', 1, draftOf('device'), true);
  slot.amend('k', 2);
  slot.amend('k', 3);
  assert.equal(slot.get('k'), 3);
  assert.equal(journal.backlog, 1);
  await commits.fail();
  for (let value = 4; value < 1000; value++) slot.amend('k', value);
  assert.equal(journal.backlog, 2, 'any number of them uses one entry while the store refuses');
  assert.equal(slot.get('k'), 999);
  clock.advance(commitRetryMs);
  await commits.succeed();
  assert.equal(slot.get('k'), 999);
  void slot.committed('k');
  await commits.succeed();
  assert.deepEqual(batches, [[['a', 'k', 3]], [['a', 'k', 999]]]);
});

test('an event after an amended value is committed after it', async (t) => {
  const { commits, batches, slot } = scripted(t);
  slot.amend('k', 1);
  slot.write('k', 2, draftOf('device'), true);
  slot.amend('k', 3);
  await commits.succeed();
  assert.deepEqual(batches, [
    [
      ['a', 'k', 1],
      ['a', 'k', 3],
    ],
  ]);
});

test('a journal beyond its backlog limit is overloaded, still accepts writes, and recovers', async (t) => {
  const { commits, slot, journal } = scripted(t, { backlogMax: 3 });
  for (const key of ['a', 'b', 'c']) slot.write(key, 1, null, true);
  assert.equal(journal.isOverloaded, false);
  slot.amend('c', 2);
  assert.equal(journal.isOverloaded, false);
  slot.write('d', 1, draftOf('device'), true);
  assert.equal(journal.isOverloaded, true);
  assert.equal(slot.get('d'), 1);
  await commits.succeed();
  assert.equal(journal.isOverloaded, false);
});

test('logins close beyond their limit, and open again at half of it', async (t) => {
  const { commits, slot, journal, logins } = scripted(t, { loginsMax: 3 });
  for (const key of ['a', 'b', 'c']) slot.write(key, 1, null, true);
  assert.equal(journal.loginsAreClosed, false);
  slot.write('d', 1, null, true);
  slot.write('e', 1, null, true);
  assert.deepEqual([journal.loginsAreClosed, journal.isOverloaded, logins], [true, false, [true]]);
  await commits.succeed();
  assert.deepEqual([journal.loginsAreClosed, logins], [false, [true, false]]);
});

test('a retry asks `mayAccept` first, and a new reason of refusal is reported', async (t) => {
  const asked: string[] = [];
  let mayAccept = false;
  const { clock, commits, slot, health } = scripted(t, {
    mayAccept: async (failure) => {
      asked.push((failure as Error).message);
      return mayAccept;
    },
  });
  slot.write('k', 1, null, true);
  await commits.fail(new Error('full'));
  clock.advance(commitRetryMs);
  await setImmediate();
  assert.deepEqual([asked, commits.waiting], [['full'], 0]);
  mayAccept = true;
  clock.advance(commitRetryMs);
  await commits.fail(Object.assign(new Error('damaged'), { code: -30_796 }));
  clock.advance(commitRetryMs);
  await commits.succeed();
  assert.deepEqual(health, ['full', 'damaged', 'healthy']);
});

test('events are published after their commit and before callers that await it continue', async (t) => {
  const { commits, published, slot, journal } = scripted(t);
  journal.append(draftOf('device', 1));
  slot.write('k', 1, draftOf('device', 2), true);
  slot.write('k', 2, null, true);
  slot.write('k', 3, draftOf('other', 3), true);
  let publishedBefore = -1;
  const waiting = slot.committed('k')?.then(() => (publishedBefore = published.length));
  await commits.asked();
  assert.equal(published.length, 0);
  await commits.succeed();
  await waiting;
  assert.equal(publishedBefore, 1);
  assert.deepEqual(
    published[0]?.map(({ sequence, deviceId, seq }) => [sequence, deviceId, seq]),
    [
      [1, 'device', 1],
      [2, 'device', 2],
      [3, 'other', 1],
    ],
  );
});

test('an event has the product of its moment, or none if the registry cannot be read', async (t) => {
  const store = temporaryStore(t);
  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  let product: string | null = 'doorbell';
  const { journal, events } = openJournal(store, {
    batch: commits.batch,
    productOf: () => {
      if (product === null) throw new Error('the registry is closed');
      return product as never;
    },
  });
  const seen: (string | null)[] = [];
  events.follow((batch) => seen.push(...batch.map(({ productId }) => productId)));
  journal.append(draftOf('device'));
  product = 'camera';
  journal.append(draftOf('device'));
  product = null;
  journal.append(draftOf('device'));
  product = 'later';
  await commits.succeed();
  assert.deepEqual(seen, ['doorbell', 'camera', null]);
});

/** A store that shows a batch before the disk has it; the test controls both. */
function slowDisk(t: TestContext) {
  const store = temporaryStore(t);
  const clock = new DrivenClock();
  const disk: { readonly sync: () => void; readonly fail: () => void }[] = [];
  const health: string[] = [];
  const published: number[] = [];
  const { journal } = openJournal(store, {
    clock,
    onHealth: (failure) => health.push(failure === null ? 'healthy' : (failure as Error).message),
    batch: async (write, watch) => {
      await store.state.environment.transaction(write);
      if (watch?.isVisible() === true) watch.onVisible();
      await new Promise<void>((sync, refuse) =>
        disk.push({ sync, fail: () => refuse(new Error('the disk is gone')) }),
      );
    },
  });
  journal.onCommitted((events) => published.push(...events.map(({ sequence }) => sequence)));
  const shown = async (count: number): Promise<void> => {
    while (disk.length < count) await setImmediate();
  };
  return { clock, journal, disk, health, published, shown };
}

test('events are published when they are visible, before the disk has them', async (t) => {
  const { journal, disk, published, shown } = slowDisk(t);
  journal.append(draftOf('d'));
  await shown(1);
  assert.deepEqual(published, [1]);
  assert.equal(journal.backlog, 0);
  disk[0]?.sync();
  await setImmediate();
  assert.deepEqual(published, [1]);
});

test('the next batch waits for the disk, so that a slow disk gets larger batches', async (t) => {
  const { journal, disk, published, shown } = slowDisk(t);
  journal.append(draftOf('d', 1));
  await shown(1);
  journal.append(draftOf('d', 2));
  journal.append(draftOf('e', 3));
  await setImmediate();
  await setImmediate();
  assert.equal(disk.length, 1);
  assert.equal(journal.backlog, 2);
  disk[0]?.sync();
  await shown(2);
  assert.deepEqual(published, [1, 2, 3]);
});

test('a batch that was visible when the disk failed is not put again, and the next one is committed', async (t) => {
  const { clock, journal, disk, health, published, shown } = slowDisk(t);
  journal.append(draftOf('d', 1));
  await shown(1);
  disk[0]?.fail();
  await setImmediate();
  assert.deepEqual(health, ['the disk is gone']);
  journal.append(draftOf('d', 2));
  clock.advance(commitRetryMs);
  await shown(2);
  disk[1]?.sync();
  await setImmediate();
  assert.deepEqual(published, [1, 2]);
  assert.deepEqual(health, ['the disk is gone', 'healthy']);
});
