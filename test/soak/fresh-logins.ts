/**
 * Wakes devices at one member in the moment in which they log in at another, among processes and among nodes.
 *
 *   npm run soak:logins [-- --logins 2000] [--at-once 16]
 *
 * Prints how often each answer was given; exits 1 unless every one is 202. Needs nats-server.
 */
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { ProcessSite } from '../support/cluster-processes.ts';
import { ClusterSite } from '../support/cluster-site.ts';
import { wakeFreshLogins, type FreshLogins } from '../support/fresh-logins.ts';
import { startNats } from '../support/nats-server.ts';
import { lastFirst, type Ending } from '../support/temporary-store.ts';

const { values } = parseArgs({ options: { logins: { type: 'string' }, 'at-once': { type: 'string' } } });
const logins = Number(values.logins ?? 2000);
const atOnce = Number(values['at-once'] ?? 16);

type Members = Pick<FreshLogins, 'login' | 'askedFor'>;

async function processes(t: Ending): Promise<Members> {
  const site = await ProcessSite.open(t, 2, { devices: logins });
  const apis = site.everywhere();
  return {
    login: (device) => site.module(device),
    askedFor: (device) => apis[device % apis.length] ?? assert.fail(),
  };
}

async function nodes(t: Ending): Promise<Members> {
  const site = await ClusterSite.start(t, { nats: [await startNats(t)], nodes: ['a', 'b'], devices: logins });
  const [a, b] = [site.node(0), site.node(1)];
  return { login: (device) => a.module(device), askedFor: () => b.api };
}

async function run(name: string, open: (t: Ending) => Promise<Members>): Promise<void> {
  const endings: (() => void | Promise<void>)[] = [];
  try {
    const members = await open(lastFirst({ after: (end) => void endings.push(end) }));
    const startedMs = performance.now();
    const answers = await wakeFreshLogins({ logins, atOnce, ...members });
    const seconds = (performance.now() - startedMs) / 1000;
    console.log(`${name}: ${JSON.stringify(Object.fromEntries(answers))} in ${seconds.toFixed(1)} s`);
    if (answers.get('202 0') !== logins) process.exitCode = 1;
  } finally {
    for (const end of endings) await end();
  }
}

await run('processes', processes);
await run('nodes', nodes);
