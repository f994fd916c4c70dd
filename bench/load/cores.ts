/** Figure: what several processes of one server cost for each unit of work, against one process alone in the same run. */
import { setTimeout as sleep } from 'node:timers/promises';
import { pin, serverCore } from './child.ts';
import { contendersOf, describeCores, type Contender } from './cores-figure.ts';
import {
  mean,
  measureIdle,
  measureLogins,
  settleMs,
  sum,
  ways,
  type Metrics,
  type Site,
} from './cores-work.ts';
import { familyOf, membersOf, pssAtRest } from './family.ts';
import type { Figure } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, startPlayers } from './players.ts';
import { interleave } from './rounds.ts';
import { Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';
import { raisedWakeupLimits } from './wake-figure.ts';

/** Sessions that a player may hold beside its other descriptors. */
const sessionsOfPlayer = 10_000;

export async function measureCores(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const { kinds } = plan.cores;
  await interleave(contendersOf(plan), plan.runs, async (contender) => {
    const working = kinds.some((kind) => kind !== 'memory');
    samples.add(contender.name, {
      ...(working && (await measureWork(contender, plan, trouble))),
      ...(kinds.includes('memory') &&
        contender.servers === 1 &&
        (await measureMemory(contender, plan, trouble))),
    });
  });
  return describeCores(plan, samples, trouble);
}

/** The processes start wherever there is room, and are then all on one core, away from the load. */
async function startOnOneCore({ processes }: Contender, devices: number): Promise<ReveilleServer> {
  const server = await startReveille({
    devices,
    core: null,
    env: raisedWakeupLimits,
    ...(processes !== null && { processes }),
  });
  for (const { pid } of await familyOf(server)) pin(pid, serverCore);
  await sleep(settleMs);
  return server;
}

async function measureWork(contender: Contender, plan: Plan, trouble: Trouble): Promise<Metrics> {
  const { kinds, spreadSessions } = plan.cores;
  const spreads = (contender.processes ?? 1) > 1 && kinds.includes('spread');
  const sites: Site[] = [];
  try {
    for (let count = 0; count < contender.servers; count += 1)
      sites.push(await startSite(contender, plan, spreads ? spreadSessions : 0, trouble));
    const measured: Metrics = { ...(await measureLogins(sites, plan)), ...(await measureIdle(sites, plan)) };
    for (const kind of kinds) Object.assign(measured, await ways[kind]?.(sites, plan));
    for (const { players, name } of sites) await expectNoneLost(players, name, trouble);
    const [site] = sites;
    return spreads && site !== undefined ? { ...measured, ...(await measureSpread(site)) } : measured;
  } finally {
    await Promise.all(sites.map(({ server }) => server.stop()));
    await Promise.all(sites.map(({ players }) => players.child.stop()));
  }
}

async function startSite(
  contender: Contender,
  plan: Plan,
  devicesMin: number,
  trouble: Trouble,
): Promise<Site> {
  const { warmUps } = plan.cores;
  const workers = contender.processes ?? 1;
  const sessions = Math.ceil(plan.cores.sessions / contender.servers);
  const server = await startOnOneCore(contender, Math.max(sessions + workers * warmUps.login, devicesMin));
  const players = startPlayers();
  const relatives = await familyOf(server);
  return { name: contender.name, server, workers, relatives, sessions, players, plan, trouble };
}

/** With so many more that every worker has some thousand. */
async function measureSpread({ name, server, sessions, plan, trouble }: Site): Promise<Metrics> {
  const { spreadSessions } = plan.cores;
  const more = startPlayers();
  try {
    const count = Math.max(0, spreadSessions - sessions);
    const login = { port: server.devicePort, dialect: 'reveille', from: sessions, count } as const;
    if (count > 0) await logIn(more, login, trouble);
    await sleep(settleMs);
    const workers = (await membersOf(server)).filter(({ role }) => role === 'worker');
    const held = workers.map(({ sleep_sessions: own }) => own ?? 0);
    trouble.expectLoggedIn(name, sessions + count, sum(held));
    const off = Math.max(...held.map((own) => Math.abs(own - mean(held))));
    return { spreadPercent: (off / mean(held)) * 100 };
  } finally {
    await more.child.stop();
  }
}

/** A fresh server, with as many sessions in each process as alone has: what a process needs once counts as often. */
async function measureMemory(contender: Contender, plan: Plan, trouble: Trouble): Promise<Metrics> {
  const sessions = plan.cores.memorySessions * (contender.processes ?? 1);
  const server = await startOnOneCore(contender, sessions);
  const players = Array.from({ length: Math.ceil(sessions / sessionsOfPlayer) }, () => startPlayers());
  try {
    const relatives = await familyOf(server);
    const before = await pssAtRest(relatives, plan.restSeconds);
    const share = Math.ceil(sessions / players.length);
    for (const [place, one] of players.entries()) {
      const login = { port: server.devicePort, dialect: 'reveille', from: place * share } as const;
      await logIn(one, { ...login, count: Math.min(share, sessions - place * share) }, trouble);
    }
    const after = await pssAtRest(relatives, plan.restSeconds);
    for (const one of players) await expectNoneLost(one, contender.name, trouble);
    return { pssBytes: (after - before) / sessions };
  } finally {
    await server.stop();
    await Promise.all(players.map(({ child }) => child.stop()));
  }
}
