/**
 * Upgrades a server under load, and counts what devices and backends notice of it. So many sleeping devices send a heartbeat every
 * 10 s; wakeups and queries are asked per second, over 100 connections each, for so many seconds before, between and after the
 * upgrades. Each device is woken before and after. Prints one line of JSON.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { askPaced, type Asked } from '../support/paced-requests.ts';
import { anonymousBytesOf } from '../support/process-samples.ts';
import { siteDevice, wake } from '../support/site-server.ts';
import type { Ending } from '../support/temporary-store.ts';
import { UpgradeSite, type HandedOver } from '../support/upgrade-site.ts';
import { readNumbers } from './plan-options.ts';

const defaults = { sessions: 5000, wakeups: 500, queries: 200, seconds: 15, upgrades: 2, processes: 0 };

const heartbeatMs = 10_000;

function memoryMiB(pid: number): number {
  return Math.round(anonymousBytesOf(pid) / 1024 ** 2);
}

export async function run(args: readonly string[], t: Ending): Promise<readonly string[]> {
  const {
    sessions,
    wakeups: wakeupsPerSecond,
    queries: queriesPerSecond,
    seconds,
    upgrades,
    processes,
  } = readNumbers(args, defaults);
  const upgraded = await UpgradeSite.start(t, { devices: sessions, processes });
  const { site } = upgraded;
  await upgraded.sleep(sessions);
  let isOver = false;
  let arrived = 0;
  const heartbeats = setInterval(() => {
    for (const module of upgraded.modules) module.heartbeat();
  }, heartbeatMs);
  const wakeups = askPaced(
    wakeupsPerSecond,
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
    queriesPerSecond,
    () => isOver,
    async (turn) => {
      const answer = await site.api.connectivity(siteDevice(turn % sessions));
      if (answer.status !== 200 || answer.json.code !== 0) throw new Error(`${answer.status} ${answer.text}`);
    },
  );
  const served: (readonly HandedOver[])[] = [];
  const { command } = site.server;
  await wait(seconds * 1000);
  for (let which = 1; which <= upgrades; which++) {
    served.push(await upgraded.upgrade(which));
    await wait(seconds * 1000);
  }
  isOver = true;
  const [woken, queried] = await Promise.all([wakeups, queries]);
  clearInterval(heartbeats);
  const offline = (await upgraded.offlineEvents()).split('\n').filter((line) => line !== '').length;
  const describe = ({ asked, slowestMs, failures }: Asked) => ({
    asked,
    slowestMs,
    failures: Object.fromEntries(failures),
  });
  console.log(
    JSON.stringify({
      sessions,
      closed: upgraded.closed.length,
      offline_events: offline,
      upgrades: served,
      memory_mib: { started: memoryMiB(site.pid), serves: memoryMiB(upgraded.servingPid) },
      wakeups: { ...describe(woken), arrived },
      queries: describe(queried),
    }),
  );
  for (const line of command.lines) if (/"level":"(?:warn|error)"/.test(line)) console.error(line);
  const counts = {
    'sessions were closed': upgraded.closed.length,
    'sessions were reported to be over': offline,
    'kinds of requests failed': woken.failures.size + queried.failures.size,
    'packets did not arrive': woken.asked - arrived,
  };
  return Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
}
