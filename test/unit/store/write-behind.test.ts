import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { WriteBehind } from '../../../src/store/write-behind.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { ScriptedCommits } from '../../support/scripted-commits.ts';

function scripted({ backlogMax = 10 } = {}) {
  const clock = new DrivenClock();
  const commits = new ScriptedCommits();
  const batches: [string, number][][] = [];
  const health: string[] = [];
  const behind = new WriteBehind<number>({
    clock,
    backlogMax,
    commit: (values) => commits.batch(() => batches.push(Array.from(values))),
    onHealth: (failure) => health.push(failure === null ? 'healthy' : (failure as Error).message),
  });
  return { clock, commits, batches, health, behind };
}

async function isSettled(promise: Promise<void> | null): Promise<boolean> {
  const settled = await Promise.race([promise?.then(() => true) ?? true, setImmediate(false)]);
  return settled;
}

test('a value is seen at once, told committed when it is, and then forgotten', async () => {
  const { commits, batches, behind } = scripted();
  behind.set('a', 1);
  assert.equal(behind.get('a'), 1);
  const committed = behind.committed('a');
  assert.equal(await isSettled(committed), false);
  await commits.succeed();
  await committed;
  assert.equal(behind.get('a'), undefined);
  assert.equal(behind.committed('a'), null);
  assert.equal(behind.backlog, 0);
  assert.deepEqual(batches, [[['a', 1]]]);
});

test('what one turn of the loop wrote goes together, the newest value of each key', async () => {
  const { commits, batches, behind } = scripted();
  behind.set('a', 1);
  behind.set('b', 2);
  behind.set('a', 3);
  await commits.succeed();
  assert.deepEqual(batches, [
    [
      ['a', 3],
      ['b', 2],
    ],
  ]);
});

test('what comes while a batch is under way goes with the next, one at a time', async () => {
  const { commits, batches, behind } = scripted();
  behind.set('a', 1);
  await commits.asked();
  behind.set('a', 2);
  behind.set('b', 1);
  await setImmediate();
  assert.equal(commits.waiting, 1);
  assert.equal(behind.get('a'), 2);
  const newest = behind.committed('a');
  await commits.succeed();
  assert.equal(behind.get('a'), 2);
  assert.equal(await isSettled(newest), false, 'the older value is committed, the newest is not');
  await commits.succeed();
  await newest;
  assert.deepEqual(batches, [
    [['a', 1]],
    [
      ['a', 2],
      ['b', 1],
    ],
  ]);
});

test('a wait for a value under way ends with its own batch, though a newer value came', async () => {
  const { commits, behind } = scripted();
  behind.set('a', 1);
  await commits.asked();
  const first = behind.committed('a');
  behind.set('a', 2);
  await commits.succeed();
  await first;
  assert.equal(behind.get('a'), 2);
  await commits.succeed();
});

test('everything written before a wait for all is committed when it ends, later writes need not be', async () => {
  const { commits, behind } = scripted();
  behind.set('a', 1);
  await commits.asked();
  behind.set('b', 1);
  const all = behind.allCommitted();
  await commits.succeed();
  assert.equal(await isSettled(all), false);
  behind.set('c', 1);
  await commits.asked();
  behind.set('d', 1);
  await commits.succeed();
  await all;
  assert.equal(behind.get('d'), 1);
  await commits.succeed();
  await behind.allCommitted();
});

test('a commit that fails any number of times is tried again every second, whole, and loses nothing', async () => {
  for (let failures = 1; failures <= 4; failures++) {
    const { clock, commits, batches, health, behind } = scripted();
    behind.set('a', 1);
    behind.set('b', 1);
    const committed = behind.committed('a');
    await commits.asked();
    behind.set('b', 2);
    for (let i = 0; i < failures; i++) {
      await commits.fail();
      assert.equal(behind.isHealthy, false);
      assert.equal(behind.get('b'), 2);
      clock.advance(999);
      assert.equal(commits.waiting, 0);
      clock.advance(1);
    }
    await commits.succeed();
    await committed;
    assert.equal(behind.isHealthy, true);
    await commits.succeed();
    assert.deepEqual(batches, [
      [
        ['a', 1],
        ['b', 1],
      ],
      [['b', 2]],
    ]);
    assert.deepEqual(health, ['the disk is full', 'healthy']);
    assert.equal(behind.backlog, 0);
  }
});

test('writes while the store refuses do not hurry it, and are committed once it is good again', async () => {
  const { clock, commits, batches, behind } = scripted();
  behind.set('a', 1);
  await commits.fail();
  behind.set('a', 2);
  behind.set('b', 1);
  await setImmediate();
  assert.equal(commits.waiting, 0);
  clock.advance(1000);
  await commits.succeed();
  await commits.succeed();
  assert.deepEqual(batches, [
    [['a', 1]],
    [
      ['a', 2],
      ['b', 1],
    ],
  ]);
});

test('a backlog past its limit is overloaded, takes writes all the same, and recovers', async () => {
  const { commits, behind } = scripted({ backlogMax: 3 });
  for (const key of ['a', 'b', 'c']) behind.set(key, 1);
  assert.equal(behind.isOverloaded, false);
  behind.set('c', 2);
  assert.equal(behind.isOverloaded, false, 'a newer value of a key takes no more room');
  behind.set('d', 1);
  assert.equal(behind.isOverloaded, true);
  assert.equal(behind.get('d'), 1);
  await commits.succeed();
  assert.equal(behind.isOverloaded, false);
});

test('a long backlog is committed in batches of bounded size, oldest first', async () => {
  const { commits, batches, behind } = scripted({ backlogMax: 10_000 });
  for (let i = 0; i < 2500; i++) behind.set(`${i}`, i);
  const first = behind.committed('0');
  const last = behind.committed('2499');
  await commits.succeed();
  assert.equal(await isSettled(first), true);
  assert.equal(await isSettled(last), false);
  await commits.succeed();
  await commits.succeed();
  await last;
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [1000, 1000, 500],
  );
  assert.deepEqual(
    batches.flat().map(([, value]) => value),
    Array.from({ length: 2500 }, (_, i) => i),
  );
});
