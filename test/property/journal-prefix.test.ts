/**
 * Whatever is written, however it falls into batches, whichever of them the store refuses, and wherever a crash cuts:
 * the store holds what it held after one of the steps, no step that was told committed is missing, and no number of
 * the log is skipped or given twice.
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
  take,
  type Picture,
  type Step,
  type Told,
} from '../support/journal-model.ts';
import { temporaryStore } from '../support/temporary-store.ts';

const step = fc.record({ kind: fc.constantFrom(...stepKinds), device: fc.nat(devices - 1) });
/** What one turn of the loop does. */
const turns = fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 15 });
const batchMax = fc.integer({ min: 1, max: 8 });
/** Of each commit that is asked for, whether it goes through; where the list ends, the process dies. */
const commits = fc.array(
  fc.boolean().map((refused) => !refused),
  { maxLength: 25 },
);

interface Crash {
  /** After each step, the first: before any. */
  readonly pictures: readonly Picture[];
  /** Steps that somebody was told are committed. */
  readonly acknowledged: number;
  readonly left: Picture;
  readonly fault: string | null;
}

/** Plays the turns until the commits run out, and looks at the store as the next process would. */
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
  const happened: Told[] = [];
  const pictures = [pictureOf(deps, happened)];
  let acknowledged = 0;
  let number = 0;
  for (const steps of turns) {
    for (const step of steps) {
      number += 1;
      happened.push(...listOf(take(deps, step, number)));
      pictures.push(pictureOf(deps, happened));
      const told = number;
      if (step.kind === 'sleep')
        void deps.sleep
          .committed(idOf(step.device))
          ?.then(() => (acknowledged = Math.max(acknowledged, told)));
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

function listOf(told: Told | null): Told[] {
  return told === null ? [] : [told];
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

test('what a crash leaves is a moment that was, with all that was acknowledged before it', async (t) => {
  await fc.assert(
    fc.asyncProperty(turns, commits, batchMax, async (turns, commits, batchMax) =>
      assertWasOnce(await crash(t, turns, commits, batchMax)),
    ),
    { numRuns: 100 },
  );
});

test('the check notices a store that holds what it never held', async (t) => {
  const turns: Step[][] = [[{ kind: 'sleep', device: 0 }], [{ kind: 'event', device: 0 }]];
  const result = await crash(t, turns, [true, true], 5);
  assertWasOnce(result);
  const [before] = result.pictures;
  assert.ok(before !== undefined);
  assert.throws(() => assertWasOnce({ ...result, left: before, acknowledged: 1 }));
  assert.throws(() => assertWasOnce({ ...result, pictures: result.pictures.slice(0, 1) }));
});
