import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue, type Steps } from '../../../../src/lib/collections/fair-queue.ts';
import { otherApp, testApp } from '../../../support/fakes.ts';

const shape = { unitsPerTurn: 500, jobCost: 10, jobsMax: 1000 };

class Walk implements Steps {
  left: number;
  readonly #name: string;
  readonly #diary: string[];

  constructor(name: string, events: number, diary: string[]) {
    this.#name = name;
    this.left = events;
    this.#diary = diary;
  }

  get isFinished(): boolean {
    return this.left === 0;
  }

  step(eventsMax: number): number {
    assert.ok(eventsMax > 0, 'a step may look at something');
    const looked = Math.min(eventsMax, this.left);
    this.left -= looked;
    this.#diary.push(this.#name);
    return looked;
  }
}

const turn = (): Promise<void> => new Promise(setImmediate);

test('no work is done in the turn of the call', async () => {
  const diary: string[] = [];
  const turns = new FairQueue(shape);
  const done = turns.run(testApp, new Walk('a', 1, diary));
  assert.deepEqual(diary, []);
  await done;
  assert.deepEqual(diary, ['a']);
});

test('a long walk takes many turns of the loop, and others are served in between', async () => {
  const turns = new FairQueue(shape);
  const diary: string[] = [];
  const long = new Walk('long', 5000, diary);
  const done = turns.run(testApp, long);
  await turn();
  assert.ok(long.left > 0 && long.left < 5000, 'it has begun and is not done');
  const between = turn().then(() => diary.push('an API call'));
  await done;
  await between;
  assert.ok(diary.indexOf('an API call') < diary.lastIndexOf('long'));
});

test('a line with many walks does not hold up the only one of another', async () => {
  const turns = new FairQueue(shape);
  const diary: string[] = [];
  const mine = Array.from({ length: 10 }, () => turns.run(testApp, new Walk('mine', 2000, diary)));
  await turns.run(otherApp, new Walk('theirs', 100, diary));
  assert.ok(diary.length <= 3, diary.join());
  await Promise.all(mine);
});

test('jobs of a line finish in order', async () => {
  const turns = new FairQueue(shape);
  const diary: string[] = [];
  await Promise.all(['a', 'b'].map((name) => turns.run(testApp, new Walk(name, 1200, diary))));
  assert.equal(diary.join('').replace(/(.)\1*/g, '$1'), 'ab');
});

test('many short walks share a turn, up to its budget', async () => {
  const turns = new FairQueue(shape);
  const diary: string[] = [];
  const all = Promise.all(Array.from({ length: 200 }, () => turns.run(testApp, new Walk('x', 1, diary))));
  await turn();
  assert.ok(diary.length > 10 && diary.length < 100, String(diary.length));
  await all;
  assert.equal(diary.length, 200);
});

test('a walk that throws fails alone', async () => {
  const turns = new FairQueue(shape);
  const diary: string[] = [];
  const broken: Steps = {
    isFinished: false,
    step: () => {
      throw new Error('planted');
    },
  };
  const failed = assert.rejects(turns.run(testApp, broken), /planted/);
  await Promise.all([
    failed,
    turns.run(testApp, new Walk('a', 1000, diary)),
    turns.run(otherApp, new Walk('b', 1, diary)),
  ]);
  assert.ok(diary.includes('a') && diary.includes('b'));
});

test('a finished job is not stepped', async () => {
  const diary: string[] = [];
  await new FairQueue(shape).run(testApp, new Walk('a', 0, diary));
  assert.deepEqual(diary, []);
});
