/** A device that was told OK a moment ago is awake to every member. Source: docs/cluster.md, Just after a login. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiClient } from '../support/api-client.ts';
import { ClusterSite } from '../support/cluster-site.ts';
import { startNats } from '../support/nats-server.ts';
import { wake } from '../support/site-server.ts';

const logins = 200;
const atOnce = 8;

async function allAreWoken(
  login: (device: number) => Promise<SleepingModule>,
  askedFor: (device: number) => ApiClient,
): Promise<void> {
  const left = Array.from({ length: logins }, (_, device) => device).values();
  const wakeInTurn = async (): Promise<void> => {
    for (const device of left) {
      const module = await login(device);
      const { status, json, text } = await wake(askedFor(device), device);
      assert.deepEqual([status, json.code], [202, 0], text);
      await module.close();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, wakeInTurn));
}

test('200 devices that log in at one node are woken at once through another', async (t) => {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'], devices: logins });
  const [a, b] = [site.node(0), site.node(1)];
  await allAreWoken(
    (device) => a.module(device),
    () => b.api,
  );
});
