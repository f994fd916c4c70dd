/**
 * The socket figures: `npm run bench:load -- [queries|memory|logins|wakeups|heartbeats|signal|busy-queries|webhooks|
 * dead-webhook|calls|media|media-calls|sound|leg-transports|cores|hops|sessions|rates|registry|backup|nodes|stream|failover|hostile|storms ...] [--runs 5] [--smoke] [--json FILE]`;
 * no name is all of them. `cores` takes `--only login,query,…` and `--processes 2,8`, `storms` `--storm restart,city,…` and `--city 8x18750`, processes and modules of each. Prints what docs/benchmarks.md shows. Exits 1 when anything was answered wrongly, a session was lost or an event did not come; a missed target is
 * reported, not an error.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { measureBackup } from './load/backup.ts';
import { measureFailover } from './load/failover.ts';
import { measureBusyQueries } from './load/busy-queries.ts';
import { measureCalls } from './load/calls.ts';
import { measureCores } from './load/cores.ts';
import { loadCore, pinning, serverCore } from './load/child.ts';
import { measureDeadWebhook } from './load/dead-webhook.ts';
import { describeFigure, type Figure } from './load/figure.ts';
import { measureHeartbeats } from './load/heartbeats.ts';
import { measureHostile } from './load/hostile.ts';
import { measureHops } from './load/hops.ts';
import { measureLegTransports } from './load/leg-transports.ts';
import { measureLogins } from './load/logins.ts';
import { measureMediaCalls } from './load/media-calls.ts';
import { measureMedia } from './load/media.ts';
import { measureMemory } from './load/memory.ts';
import { measureNodes } from './load/nodes.ts';
import {
  coresKinds,
  fullPlan,
  smokePlan,
  stormKinds,
  type CoresKind,
  type Plan,
  type StormKind,
} from './load/plan.ts';
import { measureQueries } from './load/queries.ts';
import { measureRates } from './load/rates.ts';
import { measureRegistry } from './load/registry.ts';
import { measureSessions } from './load/sessions.ts';
import { measureSignal } from './load/signal.ts';
import { measureSound } from './load/sound.ts';
import { measureStorms } from './load/storms.ts';
import { measureStream } from './load/stream.ts';
import { measureWakeups } from './load/wakeups.ts';
import { measureWebhooks } from './load/webhooks.ts';

const figures: Readonly<Record<string, (plan: Plan) => Promise<Figure>>> = {
  queries: measureQueries,
  memory: measureMemory,
  logins: measureLogins,
  wakeups: measureWakeups,
  heartbeats: measureHeartbeats,
  signal: measureSignal,
  'busy-queries': measureBusyQueries,
  webhooks: measureWebhooks,
  'dead-webhook': measureDeadWebhook,
  calls: measureCalls,
  media: measureMedia,
  'media-calls': measureMediaCalls,
  sound: measureSound,
  'leg-transports': measureLegTransports,
  cores: measureCores,
  hops: measureHops,
  sessions: measureSessions,
  rates: measureRates,
  registry: measureRegistry,
  backup: measureBackup,
  nodes: measureNodes,
  stream: measureStream,
  failover: measureFailover,
  hostile: measureHostile,
  storms: measureStorms,
};
const usage = `bench:load [${Object.keys(figures).join('|')} ...] [--runs 5] [--smoke] [--json FILE]\n  cores: [--only ${coresKinds.join(',')}] [--processes 1,2,4,8]\n  storms: [--storm ${stormKinds.join(',')}] [--city 8x18750]`;

/** Whatever hangs, the benchmark ends, and its processes with it. */
const minutesPerRunMax = 15;
const smokeMinutesMax = 4;

function readPlan(): { plan: Plan; names: string[]; jsonFile: string | undefined } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '5' },
      smoke: { type: 'boolean' },
      json: { type: 'string' },
      only: { type: 'string' },
      processes: { type: 'string' },
      storm: { type: 'string' },
      city: { type: 'string' },
    },
  });
  const runs = positive(values.runs);
  const unknown = positionals.find((name) => !Object.hasOwn(figures, name));
  if (unknown !== undefined) throw new Error(`no such figure: ${unknown}`);
  const whole = values.smoke === true ? smokePlan : fullPlan(runs);
  const kinds = values.only?.split(',').map(coresKind) ?? whole.cores.kinds;
  const processes = values.processes?.split(',').map(positive) ?? whole.cores.processes;
  const storms = values.storm?.split(',').map(stormKind) ?? whole.storms.kinds;
  const city = values.city === undefined ? {} : citySize(values.city);
  const plan = {
    ...whole,
    cores: { ...whole.cores, kinds, processes },
    storms: { ...whole.storms, kinds: storms, ...city },
  };
  return { plan, names: positionals.length > 0 ? positionals : Object.keys(figures), jsonFile: values.json };
}

function positive(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`not a whole number from 1: ${text}`);
  return number;
}

function coresKind(text: string): CoresKind {
  const kind = coresKinds.find((one) => one === text);
  if (kind === undefined) throw new Error(`no such kind: ${text}`);
  return kind;
}

function citySize(text: string): Pick<Plan['storms'], 'processes' | 'sessionsOfProcess'> {
  const [processes = '', sessions = '', ...rest] = text.split('x');
  if (rest.length > 0) throw new Error(`not processes and modules of each, as 8x18750: ${text}`);
  return { processes: positive(processes), sessionsOfProcess: positive(sessions) };
}

function stormKind(text: string): StormKind {
  const kind = stormKinds.find((one) => one === text);
  if (kind === undefined) throw new Error(`no such storm: ${text}`);
  return kind;
}

function machine(): string {
  const gibibytes = Math.round(totalmem() / 1024 ** 3);
  const pinned = pinning
    ? `servers pinned to core ${serverCore}, their load to core ${loadCore}`
    : 'nothing pinned: no taskset, or one core only';
  return `${availableParallelism()} cores (${cpus()[0]?.model}), ${gibibytes} GiB, Node ${process.versions.node}; ${pinned}`;
}

function endInTime(plan: Plan): void {
  const minutes = plan.isSmoke ? smokeMinutesMax : minutesPerRunMax * plan.runs;
  setTimeout(() => {
    console.error(`not done after ${minutes} minutes`);
    process.exit(1);
  }, minutes * 60_000).unref();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
}

async function main(): Promise<void> {
  const { plan, names, jsonFile } = readPlan();
  endInTime(plan);
  console.log(
    `${machine()}; ${plan.isSmoke ? 'a smoke run' : `medians of ${plan.runs} runs (least–most)`}\n`,
  );
  const measured: Figure[] = [];
  for (const name of names) {
    const figure = await figures[name]?.(plan);
    if (figure === undefined) continue;
    measured.push(figure);
    console.log(`${describeFigure(figure, !plan.isSmoke)}\n`);
  }
  if (jsonFile !== undefined)
    writeFileSync(jsonFile, `${JSON.stringify({ machine: machine(), figures: measured }, null, 2)}\n`);
  if (measured.some(({ trouble }) => trouble.length > 0)) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\nusage: ${usage}`);
  process.exitCode = 1;
}
