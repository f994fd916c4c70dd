/** The core of a site with edges is killed under load. Source: scale-out.md, Edges; the longer run is `npm run soak -- core`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCoreCrashes } from '../support/core-crashes.ts';
import { lastFirst } from '../support/temporary-store.ts';
import { UpgradeSite } from '../support/upgrade-site.ts';

test('a killed core loses no session, no acknowledged wakeup and no event, and wakes every device afterwards', async (t) => {
  const plan = {
    kills: 3,
    edges: 2,
    fronts: 2,
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

test('a killed core is replaced by its spare, and the spare by a new one', async (t) => {
  const site = await UpgradeSite.open(lastFirst(t), { edges: 1, devices: 1 });
  const { command } = site.site.server;
  const spare = await command.logged<{ pid: number }>('spare core: ready');
  process.kill(await site.corePid(), 'SIGKILL');
  const next = await command.logged<{ pid: number }>('core: started', 2);
  assert.equal(next.pid, spare.pid);
  const another = await command.logged<{ pid: number }>('spare core: ready', 2);
  assert.notEqual(another.pid, spare.pid);
});
