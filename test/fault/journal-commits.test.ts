/** Fails each Nth commit once and several times: in the end every change is stored once, and every event was published once. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { commitRetryMs } from '../../src/storage/lmdb/store-limits.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import {
  devices,
  faultOf,
  openContext,
  pictureOf,
  stepKinds,
  applyStep,
  type ServerContext,
  type Picture,
  type JournalEvent,
} from '../support/journal-model.ts';
import { temporaryStore } from '../support/temporary-store.ts';

const turns = 12;
const stepsOfTurn = 5;

interface Run {
  readonly commits: number;
  readonly picture: Picture;
  readonly store: Picture;
  readonly published: readonly number[];
  readonly fault: string | null;
  readonly health: readonly string[];
}

/** Runs the same steps each time; the commits from `first` fail, `failures` in a row. */
async function play(t: TestContext, first: number, failures: number): Promise<Run> {
  const store = temporaryStore(t);
  const clock = new DrivenClock();
  const health: string[] = [];
  let commits = 0;
  const batch = async (write: () => void): Promise<void> => {
    commits += 1;
    if (commits >= first && commits < first + failures) throw new Error('the disk is full');
    await store.state.environment.transaction(write);
  };
  const onHealth = (failure: unknown): void => void health.push(failure === null ? 'good' : 'bad');
  const context = openContext(store, { clock, batch, batchMax: 7, onHealth });
  const published: number[] = [];
  const happened: JournalEvent[] = [];
  context.events.follow((events) => published.push(...events.map(({ sequence }) => sequence)));
  for (let turn = 0; turn < turns; turn++) {
    for (let i = 0; i < stepsOfTurn; i++) {
      const number = turn * stepsOfTurn + i + 1;
      const kind = stepKinds[(turn + i) % stepKinds.length] ?? 'event';
      const event = applyStep(context, { kind, device: number % devices }, number);
      if (event !== null) happened.push(event);
    }
    await setImmediate();
  }
  const picture = pictureOf(context, happened);
  await finish(context, clock);
  const next = openContext(store);
  const logged = next.events.read(0, 1000);
  return { commits, picture, store: pictureOf(next, logged), published, fault: faultOf(logged), health };
}

async function finish({ journal }: ServerContext, clock: DrivenClock): Promise<void> {
  while (journal.backlog > 0) {
    await setImmediate();
    clock.advance(commitRetryMs);
  }
}

test('no failing commit loses, repeats or republishes an event', async (t) => {
  const { commits } = await play(t, Infinity, 0);
  assert.ok(commits > 5, 'the run has too few commits');
  for (let first = 1; first <= commits; first++)
    for (const failures of [1, 3]) {
      const run = await play(t, first, failures);
      assert.deepEqual(run.store, run.picture, `commit ${first} failed ${failures} times`);
      assert.equal(run.fault, null);
      assert.deepEqual(
        run.published,
        run.published.map((_, i) => i + 1),
      );
      assert.deepEqual(run.health, ['bad', 'good']);
    }
});
