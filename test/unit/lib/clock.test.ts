import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nextTurn, quietTurn } from '../../../src/lib/clock.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

/** Resolves after this many long turns of the event loop. */
async function busyTurns(clock: DrivenClock, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await nextTurn();
    clock.advance(5);
  }
}

describe('a quiet turn of the event loop', () => {
  test('is the next whole one if the loop is idle', async () => {
    const ends: string[] = [];
    const quiet = quietTurn(new DrivenClock()).then(() => ends.push('quiet'));
    for (const turn of ['this one', 'the next', 'after it']) {
      await nextTurn();
      ends.push(turn);
    }
    await quiet;
    // Requested first, so it is the first of each turn.
    assert.deepEqual(ends, ['this one', 'quiet', 'the next', 'after it']);
  });

  test('follows the long ones', async () => {
    const clock = new DrivenClock();
    const before = clock.monotonicMs();
    await Promise.all([
      quietTurn(clock).then(() => assert.equal(clock.monotonicMs() - before, 35)),
      busyTurns(clock, 7),
    ]);
  });

  test('is awaited for at most 20 turns', async () => {
    const clock = new DrivenClock();
    const before = clock.monotonicMs();
    const waited = quietTurn(clock).then(() => clock.monotonicMs() - before);
    await busyTurns(clock, 30);
    assert.ok((await waited) <= 100, `${await waited}`);
  });
});
