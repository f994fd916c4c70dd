/**
 * Upgrades a server under load, and counts what devices and backends notice of it: nothing is what they should.
 *
 *   npm run soak:upgrade [-- --sessions 5000] [--wakeups 500] [--queries 200] [--seconds 15] [--upgrades 2] [--processes 2]
 *
 * So many sleeping devices send a heartbeat every 10 s; wakeups and queries are asked per second, over 100 connections each,
 * for so many seconds before, between and after the upgrades. Each device is woken before and after. Prints one line of JSON;
 * exits 1 when a session was closed or told to be over, a request failed, or a packet did not arrive.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { siteDevice, wake } from '../support/site-server.ts';
import { UpgradeSite, type HandedOver } from '../support/upgrade-site.ts';

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '5000' },
    wakeups: { type: 'string', default: '500' },
    queries: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '15' },
    upgrades: { type: 'string', default: '2' },
    processes: { type: 'string', default: '0' },
  },
});
const sessions = Number(values.sessions);
const heartbeatMs = 10_000;
const stepMs = 5;
/** Of a backend, for wakeups and for queries each: what is due meanwhile is made up for. */
const connections = 100;

interface Asked {
  asked: number;
  slowestMs: number;
  readonly failures: Map<string, number>;
}

/** Asks so often a second until `isOver`; what is under way then is waited for. */
async function ask(
  perSecond: number,
  isOver: () => boolean,
  one: (turn: number) => Promise<void>,
): Promise<Asked> {
  const seen: Asked = { asked: 0, slowestMs: 0, failures: new Map() };
  const underWay = new Set<Promise<void>>();
  const startedMs = performance.now();
  while (!isOver()) {
    const due = ((performance.now() - startedMs) / 1000) * perSecond;
    for (; seen.asked < due && underWay.size < connections; seen.asked += 1) {
      const begunMs = performance.now();
      const asking = one(seen.asked)
        .catch((error: unknown) => {
          const what = String(error).slice(0, 160);
          seen.failures.set(what, (seen.failures.get(what) ?? 0) + 1);
        })
        .finally(() => {
          underWay.delete(asking);
          seen.slowestMs = Math.max(seen.slowestMs, Math.round(performance.now() - begunMs));
        });
      underWay.add(asking);
    }
    await wait(stepMs);
  }
  await Promise.all(underWay);
  return seen;
}

/** Of the process that was started, which stays, and of the one that serves. */
function residentMib(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return Math.round(Number(kib) / 1024);
}

async function run(upgraded: UpgradeSite): Promise<boolean> {
  const { site } = upgraded;
  await upgraded.sleep(sessions);
  let isOver = false;
  let arrived = 0;
  const heartbeats = setInterval(() => {
    for (const module of upgraded.modules) module.heartbeat();
  }, heartbeatMs);
  const wakeups = ask(
    Number(values.wakeups),
    () => isOver,
    async (turn) => {
      const device = turn % sessions;
      const answer = await wake(site.api, device);
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      await upgraded.modules[device]?.nextPacket();
      arrived += 1;
    },
  );
  const queries = ask(
    Number(values.queries),
    () => isOver,
    async (turn) => {
      const answer = await site.api.connectivity(siteDevice(turn % sessions));
      if (answer.status !== 200 || answer.json.code !== 0) throw new Error(`${answer.status} ${answer.text}`);
    },
  );
  const served: (readonly HandedOver[])[] = [];
  const { command } = site.server;
  await wait(Number(values.seconds) * 1000);
  for (let which = 1; which <= Number(values.upgrades); which++) {
    served.push(await upgraded.upgrade(which));
    await wait(Number(values.seconds) * 1000);
  }
  isOver = true;
  const [woken, queried] = await Promise.all([wakeups, queries]);
  clearInterval(heartbeats);
  const offline = (await upgraded.offlineEvents()).split('\n').filter((line) => line !== '').length;
  const told = ({ asked, slowestMs, failures }: Asked) => ({
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
      resident_mib: { started: residentMib(site.pid), serves: residentMib(upgraded.servingPid) },
      wakeups: { ...told(woken), arrived },
      queries: told(queried),
    }),
  );
  for (const line of command.lines) if (/"level":"(?:warn|error)"/.test(line)) console.error(line);
  const failures = woken.failures.size + queried.failures.size;
  return upgraded.closed.length + offline + failures === 0 && arrived === woken.asked;
}

const endings: (() => void | Promise<void>)[] = [];
try {
  const upgraded = await UpgradeSite.start(
    { after: (end) => void endings.push(end) },
    { devices: sessions, processes: Number(values.processes) },
  );
  if (!(await run(upgraded))) process.exitCode = 1;
} finally {
  for (const end of endings.toReversed()) await end();
}
