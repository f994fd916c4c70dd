/**
 * Upgrades the core of a site with edges under load: devices sleep, some over TLS at a remotely linked edge; wakeups and queries
 * are sent at fixed rates, over 100 connections each. It fails if a socket was closed, a session ended, a request failed, a packet
 * did not arrive, or a call has no pictures after an upgrade, even after a restart of the call. If the kernel does not migrate
 * connections (`net.ipv4.tcp_migrate_req`), a few may be reset. Prints one line of JSON, with the longest delay of requests.
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { ReveilleClient } from '../../src/client/reveille-client.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import { askPaced, type Asked } from '../support/paced-requests.ts';
import { bridgeKey } from './media/call-server.ts';
import { withMedia } from '../support/server-process.ts';
import { siteCredential, siteDevice, wake } from '../support/site-server.ts';
import type { Ending } from '../support/temporary-store.ts';
import { TlsEdge } from '../support/tls-edge.ts';
import { UpgradeSite, type Upgraded } from '../support/upgrade-site.ts';
import { readNumbers } from './plan-options.ts';
import { CallLoad } from './server/call-load.ts';
import { ErrorCounts } from './server/latencies.ts';

const defaults = {
  edges: 2,
  fronts: 0,
  sessions: 5000,
  tls: 500,
  wakeups: 500,
  queries: 200,
  calls: 10,
  seconds: 15,
  upgrades: 3,
};

const migrationFile = '/proc/sys/net/ipv4/tcp_migrate_req';
/** New connections that the kernel may reset per upgrade, if it does not migrate them to the next core. */
const resetsPerUpgradeMax = 10;

const heartbeatMs = 10_000;
/** A call without a picture for this long is restarted. */
const picturesMs = 3000;

export async function run(args: readonly string[], t: Ending): Promise<readonly string[]> {
  const plan = readNumbers(args, defaults);
  const { sessions, upgrades } = plan;
  const tls = plan.tls > 0 ? await TlsEdge.make(t) : null;
  const media = plan.calls > 0 ? [...withMedia, `media.bridge_keys=${bridgeKey}`] : [];
  const settings = [`api.fronts=${plan.fronts}`, ...(tls?.coreSettings ?? []), ...media];
  const upgraded = await UpgradeSite.open(t, { edges: plan.edges, devices: sessions, settings });
  const { site } = upgraded;
  await tls?.start();
  await upgraded.sleep(sessions, (device) =>
    tls !== null && device < plan.tls ? tls.module(device) : site.module(device),
  );
  const errors = new ErrorCounts();
  const client = new ReveilleClient({
    origin: `http://127.0.0.1:${site.ports.api}`,
    credential: siteCredential,
  });
  const engine = await openEngine();
  if (!engine.ok) throw new Error(engine.error);
  const calls = new CallLoad({
    engine: engine.value,
    client,
    url: `ws://127.0.0.1:${site.ports.media}`,
    calls: plan.calls,
    changeSeconds: picturesMs / 1000,
    changes: false,
    errors,
  });
  const calling = calls.run();
  let isOver = false;
  let arrived = 0;
  const heartbeats = setInterval(() => {
    for (const module of upgraded.modules) module.heartbeat();
  }, heartbeatMs);
  const wakeups = askPaced(
    plan.wakeups,
    () => isOver,
    async (turn) => {
      const device = turn % sessions;
      const answer = await wake(site.api, device);
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      await upgraded.modules[device]?.nextPacket();
      arrived += 1;
    },
  );
  const queries = askPaced(
    plan.queries,
    () => isOver,
    async (turn) => {
      const answer = await site.api.connectivity(siteDevice(turn % sessions));
      if (answer.status !== 200 || answer.json.code !== 0) throw new Error(`${answer.status} ${answer.text}`);
    },
  );
  const pids = new Set([await upgraded.corePid()]);
  const served: Upgraded[] = [];
  let deadCalls = 0;
  await wait(plan.seconds * 1000);
  for (let which = 1; which <= upgrades; which++) {
    served.push(await upgraded.upgrade(which));
    pids.add(await upgraded.corePid());
    await wait(plan.seconds * 1000);
    deadCalls += await calls.withoutPictures(picturesMs);
  }
  isOver = true;
  const [woken, queried] = await Promise.all([wakeups, queries]);
  clearInterval(heartbeats);
  calls.stop();
  await calling;
  client.close();
  const offline = (await upgraded.offlineEvents()).split('\n').filter((line) => line !== '').length;
  const describe = ({ asked, slowestMs, failures }: Asked) => ({
    asked,
    slowestMs,
    failures: Object.fromEntries(failures),
  });
  const held = served.map(({ held_ms }) => held_ms);
  console.log(
    JSON.stringify({
      plan,
      closed: upgraded.closed.length,
      offline_events: offline,
      held_ms: { longest: Math.max(...held), each: held },
      wakeups: { ...describe(woken), arrived },
      queries: describe(queried),
      calls: { without_pictures: deadCalls, begun_again: errors.read() },
    }),
  );
  for (const line of site.server.command.lines)
    if (/"level":"(?:warn|error)"/.test(line)) console.error(line);
  const resets = countResets(woken) + countResets(queried);
  const failed = woken.asked - arrived + sum(queried.failures.values());
  const mayReset = migrates() ? 0 : resetsPerUpgradeMax * upgrades;
  if (resets > 0)
    console.error(`${resets} new connections were reset (net.ipv4.tcp_migrate_req allows ${mayReset})`);
  const counts = {
    'sessions were closed': upgraded.closed.length,
    'sessions were reported to be over': offline,
    'requests failed, or their packets did not arrive': failed - Math.min(resets, mayReset),
    'upgrades have left the core in place': upgrades + 1 - pids.size,
    'calls had no pictures after an upgrade': deadCalls,
  };
  return Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
}

function migrates(): boolean {
  return existsSync(migrationFile) && readFileSync(migrationFile, 'latin1').trim() === '1';
}

function countResets({ failures }: Asked): number {
  return sum([...failures].map(([what, count]) => (what.startsWith(resetError) ? count : 0)));
}

const resetError = 'Error: connect ECONNRESET';

function sum(counts: Iterable<number>): number {
  return [...counts].reduce((all, count) => all + count, 0);
}
