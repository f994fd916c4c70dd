/** Tests of the simulator itself: seeds are repeatable, faults happen, and planted bugs are found. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canaries } from './canaries.ts';
import { simulate } from './simulation.ts';
import type { Topology } from './site.ts';

for (const topology of ['alone', 'edges', 'nodes'] as const satisfies readonly Topology[])
  test(`the same seed gives the same trace, to the last line: ${topology}`, async () => {
    const [one, other] = [await simulate(8, { topology }), await simulate(8, { topology })];
    assert.equal(one.violation, null);
    assert.equal(one.hash, other.hash);
    assert.equal(one.steps, other.steps);
    assert.ok(one.steps > 0);
    for (const what of ['logins', 'wakeups', 'queries', 'events', 'timers'] as const)
      assert.ok((one.checked.get(what) ?? 0) > 0, `${what} were checked`);
  });

test('a core adopts the sessions of its edges, with seeds that once found a bug', async () => {
  for (const seed of [5, 13]) {
    const { violation } = await simulate(seed, { topology: 'edges' });
    assert.equal(violation, null, `seed ${seed}`);
  }
});

test('a planted bug is found, and reported with its invariant and the end of the trace', async () => {
  const canary = canaries.find(({ name }) => name === 'a call is ended twice');
  assert.ok(canary !== undefined);
  const { violation, trace } = await simulate(1, { canary });
  assert.match(violation ?? '', /^invariant 7: the log has for c\d+: .*call\.ended, call\.ended/u);
  assert.ok(trace.some((line) => line.includes('VIOLATED 7')));
});

test('every canary has a unique name, and there are enough of them', () => {
  assert.equal(new Set(canaries.map(({ name }) => name)).size, canaries.length);
  assert.ok(canaries.length >= 10);
});
