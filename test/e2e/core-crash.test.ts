/** The core of a site with edges is killed under load. Source: scale-out.md, Edges; the longer run is `npm run soak -- core`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCoreCrashes } from '../support/core-crashes.ts';
import { lastFirst } from '../support/temporary-store.ts';

test('a killed core loses no session, no acknowledged wakeup and no event, and wakes every device afterwards', async (t) => {
  const plan = {
    kills: 3,
    edges: 2,
    sessions: 200,
    tls: 0,
    controllers: 20,
    wakeups: 100,
    queries: 50,
    lifeMs: 500,
    seed: 34,
  };
  const { wakeups, queries } = await runCoreCrashes(lastFirst(t), plan);
  assert.deepEqual([...wakeups.failures, ...queries.failures], []);
});
