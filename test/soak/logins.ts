/**
 * Wakes devices at one member in the moment in which they log in at another, among processes and among nodes. Prints how often
 * each answer was given; every one has to be 202. Needs nats-server.
 */
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { ProcessSite } from '../support/cluster-processes.ts';
import { ClusterSite } from '../support/cluster-site.ts';
import { wakeFreshLogins, type FreshLogins } from '../support/fresh-logins.ts';
import { startNats } from '../support/nats-server.ts';
import type { Ending } from '../support/temporary-store.ts';

type Members = Pick<FreshLogins, 'login' | 'askedFor'>;

async function openProcesses(t: Ending, devices: number): Promise<Members> {
  const site = await ProcessSite.open(t, 2, { devices });
  const apis = site.everywhere();
  return {
    login: (device) => site.module(device),
    askedFor: (device) => apis[device % apis.length] ?? assert.fail(),
  };
}

async function openNodes(t: Ending, devices: number): Promise<Members> {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'], devices });
  const [a, b] = [site.node(0), site.node(1)];
  return { login: (device) => a.module(device), askedFor: () => b.api };
}

export async function run(args: readonly string[], t: Ending): Promise<readonly string[]> {
  const options = { logins: { type: 'string' }, 'at-once': { type: 'string' } } as const;
  const { values } = parseArgs({ args: [...args], options });
  const logins = Number(values.logins ?? 2000);
  const atOnce = Number(values['at-once'] ?? 16);
  const complaints: string[] = [];
  for (const [name, open] of Object.entries({ processes: openProcesses, nodes: openNodes })) {
    const startedMs = performance.now();
    const answers = await wakeFreshLogins({ logins, atOnce, ...(await open(t, logins)) });
    const seconds = (performance.now() - startedMs) / 1000;
    const given = JSON.stringify(Object.fromEntries(answers));
    console.log(`${name}: ${given} in ${seconds.toFixed(1)} s`);
    if (answers.get('202 0') !== logins)
      complaints.push(`not every wakeup among ${name} was accepted: ${given}`);
  }
  return complaints;
}
