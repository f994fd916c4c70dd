/**
 * Property: whatever is written, however it is batched, whichever batches the store rejects, and wherever a crash cuts, the
 * store is in the state after one of the steps, no step that was acknowledged is missing, and no number of the log is skipped
 * or reused.
 */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { commitRetryMs } from '../../src/storage/lmdb/store-limits.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import {
  devices,
  faultOf,
  idOf,
  openContext,
  pictureOf,
  stepKinds,
  applyStep,
  type Picture,
  type Step,
  type JournalEvent,
} from '../support/journal-model.ts';
import { temporaryStore } from '../support/temporary-store.ts';

const step = fc.record({ kind: fc.constantFrom(...stepKinds), device: fc.nat(devices - 1) });
/** Steps of one turn of the event loop. */
const turns = fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 15 });
const batchMax = fc.integer({ min: 1, max: 8 });
/** For each commit, true if it succeeds; at the end of the list the process dies. */
const commits = fc.array(
  fc.boolean().map((refused) => !refused),
  { maxLength: 25 },
);

interface Crash {
  /** Pictures after each step; the first is from before any. */
  readonly pictures: readonly Picture[];
  /** Number of steps that were acknowledged as committed. */
  readonly acknowledged: number;
  readonly left: Picture;
  readonly fault: string | null;
}

/** Plays the turns until the commits are used up, and reads the store as the next process does. */
async function crash(
  t: TestContext,
  turns: readonly (readonly Step[])[],
  goesThrough: readonly boolean[],
  batchMax: number,
): Promise<Crash> {
  const store = temporaryStore(t);
  const clock = new DrivenClock();
  let asked = 0;
  let underWay = Promise.resolve();
  const batch = (write: () => void): Promise<void> => {
    const outcome = goesThrough[asked++];
    if (outcome === undefined) return new Promise(() => undefined);
    if (!outcome) return Promise.reject(new Error('the disk is full'));
    return (underWay = store.state.environment.transaction(write));
  };
  const deps = openContext(store, { clock, batch, batchMax });
  const happened: JournalEvent[] = [];
  const pictures = [pictureOf(deps, happened)];
  let acknowledged = 0;
  let number = 0;
  for (const steps of turns) {
    for (const step of steps) {
      number += 1;
      happened.push(...listOf(applyStep(deps, step, number)));
      pictures.push(pictureOf(deps, happened));
      const written = number;
      if (step.kind === 'sleep')
        void deps.sleep
          .committed(idOf(step.device))
          ?.then(() => (acknowledged = Math.max(acknowledged, written)));
    }
    await setImmediate();
    await underWay;
    clock.advance(commitRetryMs);
  }
  await underWay;
  await setImmediate();
  const next = openContext(store);
  const logged = next.events.read(0, 1_000_000);
  return { pictures, acknowledged, left: pictureOf(next, logged), fault: faultOf(logged) };
}

function listOf(event: JournalEvent | null): JournalEvent[] {
  return event === null ? [] : [event];
}

function assertWasOnce({ pictures, acknowledged, left, fault }: Crash): void {
  assert.equal(fault, null);
  const moment = pictures.findIndex(
    ({ text, heartbeats }, at) =>
      at >= acknowledged &&
      text === left.text &&
      heartbeats.every((was, i) => was <= (left.heartbeats[i] ?? 0)),
  );
  assert.notEqual(moment, -1, 'the store holds what it never held');
}

test('a crash leaves the state after some step, with everything acknowledged before it', async (t) => {
  await fc.assert(
    fc.asyncProperty(turns, commits, batchMax, async (turns, commits, batchMax) =>
      assertWasOnce(await crash(t, turns, commits, batchMax)),
    ),
    { numRuns: 100 },
  );
});

test('canary: the check rejects a store in a state that never existed', async (t) => {
  const turns: Step[][] = [[{ kind: 'sleep', device: 0 }], [{ kind: 'event', device: 0 }]];
  const result = await crash(t, turns, [true, true], 5);
  assertWasOnce(result);
  const [before] = result.pictures;
  assert.ok(before !== undefined);
  assert.throws(() => assertWasOnce({ ...result, left: before, acknowledged: 1 }));
  assert.throws(() => assertWasOnce({ ...result, pictures: result.pictures.slice(0, 1) }));
});
