/** A device that was told OK a moment ago is awake to every member. Source: docs/cluster.md, Just after a login. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessSite } from '../support/cluster-processes.ts';
import { ClusterSite } from '../support/cluster-site.ts';
import { wakeFreshLogins, type FreshLogins } from '../support/fresh-logins.ts';
import { startNats } from '../support/nats-server.ts';

const logins = 200;

async function allAreWoken(scene: Omit<FreshLogins, 'logins' | 'atOnce'>): Promise<void> {
  const answers = await wakeFreshLogins({ logins, atOnce: 8, ...scene });
  assert.deepEqual([...answers], [['202 0', logins]]);
}

test('200 devices that log in at one process are woken at once through any', async (t) => {
  const site = await ProcessSite.open(t, 2, { devices: logins });
  const apis = site.everywhere();
  await allAreWoken({
    login: (device) => site.module(device),
    askedFor: (device) => apis[device % apis.length] ?? assert.fail(),
  });
});

test('200 devices that log in at one node are woken at once through another', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'], devices: logins });
  const [a, b] = [site.node(0), site.node(1)];
  await allAreWoken({ login: (device) => a.module(device), askedFor: () => b.api });
});
