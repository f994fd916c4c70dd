/** Figure: one machine that sleeps for 150 000 devices, in several processes: memory, spread, and that none is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { familyOf, memoryOf, membersOf, type Memory, type Relative } from './family.ts';
import type { Figure } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, startPlayers, type Players } from './players.ts';
import { Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';

/** Of all players together. */
const concurrency = 480;
/** A worker that is full turns a device away; the next try comes to another one. */
const triesMax = 50;
const settleMs = 3000;
const mebibyte = 1024 * 1024;

export async function measureGreatFleet(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  for (let run = 0; run < plan.runs; run += 1) await measure(plan, samples, trouble);
  return describe(plan, samples, trouble);
}

async function measure(plan: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const { processes, sessions, players: count } = plan.fleet;
  const server = await startReveille({ devices: sessions, processes, core: null });
  const fleet = Array.from({ length: count }, () => startPlayers(null));
  try {
    await sleep(settleMs);
    const family = await familyOf(server);
    const before = new Map(family.map(({ pid }) => [pid, memoryOf(pid)]));
    const logins = await logInAll(fleet, server, plan, trouble);
    const { seconds, heartbeatSeconds: everySeconds } = plan.fleet;
    const heartbeats = await Promise.all(
      fleet.map(({ service }) => service.ask('heartbeatCalmly', { seconds, everySeconds })),
    );
    for (const players of fleet) await expectNoneLost(players, 'fleet', trouble);
    const held = await heldByWorkers(server);
    const sum = held.reduce((all, one) => all + one, 0);
    trouble.expectLoggedIn('fleet', sessions, sum);
    const after = family.map((relative) => ({ ...relative, ...growth(before, relative) }));
    addMemory(samples, after, sessions);
    const [least, most] = [Math.min(...held), Math.max(...held)];
    const sent = heartbeats.reduce((all, one) => all + one, 0);
    samples.add('all', { ...logins, sessions: sum, least, most, heartbeats: sent / seconds });
  } finally {
    await server.stop();
    await Promise.all(fleet.map(({ child }) => child.stop()));
  }
}

/** Each player has its share of the devices. */
async function logInAll(
  fleet: readonly Players[],
  { devicePort: port }: ReveilleServer,
  { fleet: { sessions } }: Plan,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const share = sessions / fleet.length;
  const readings = await Promise.all(
    fleet.map((players, place) => {
      const from = place * share;
      const each = { concurrency: Math.ceil(concurrency / fleet.length), triesMax };
      return logIn(players, { port, dialect: 'reveille', count: share, from, ...each }, trouble);
    }),
  );
  const startedMs = Math.min(...readings.map((reading) => reading.startedMs));
  const endedMs = Math.max(...readings.map((reading) => reading.endedMs));
  const again = readings.reduce((sum, reading) => sum + reading.again, 0);
  return { loginRate: (sessions / (endedMs - startedMs)) * 1000, again };
}

async function heldByWorkers(server: ReveilleServer): Promise<number[]> {
  const workers = (await membersOf(server)).filter(({ role }) => role === 'worker');
  return workers.map(({ sleep_sessions: sessions }) => sessions ?? 0);
}

interface Growth extends Memory {
  readonly pssGrowth: number;
  readonly anonGrowth: number;
}

function growth(before: ReadonlyMap<number, Memory>, { pid }: Relative): Growth {
  const now = memoryOf(pid);
  const then = before.get(pid) ?? now;
  return {
    ...now,
    pssGrowth: now.pssBytes - then.pssBytes,
    anonGrowth: now.rssAnonBytes - then.rssAnonBytes,
  };
}

function addMemory(samples: Samples, family: readonly (Relative & Growth)[], sessions: number): void {
  const workers = family.filter(({ name }) => name.startsWith('worker'));
  const sum = (list: readonly Growth[], of: keyof Growth): number =>
    list.reduce((all, one) => all + one[of], 0);
  const mean = (of: keyof Growth): number => sum(workers, of) / workers.length;
  const pss = workers.map(({ pssBytes }) => pssBytes / mebibyte);
  const perWorker = sessions / workers.length;
  samples.add('a worker, mean', {
    pss: mean('pssBytes') / mebibyte,
    anon: mean('rssAnonBytes') / mebibyte,
    bytes: mean('pssGrowth') / perWorker,
    anonBytes: mean('anonGrowth') / perWorker,
  });
  samples.add('a worker, least', { pss: Math.min(...pss) });
  samples.add('a worker, most', { pss: Math.max(...pss) });
  for (const name of ['coordinator', 'supervisor', 'spare']) {
    const one = family.filter((relative) => relative.name === name);
    samples.add(name, { pss: sum(one, 'pssBytes') / mebibyte, anon: sum(one, 'rssAnonBytes') / mebibyte });
  }
  samples.add('all', {
    pss: sum(family, 'pssBytes') / mebibyte,
    anon: sum(family, 'rssAnonBytes') / mebibyte,
    bytes: sum(family, 'pssGrowth') / sessions,
    anonBytes: sum(family, 'anonGrowth') / sessions,
  });
}

function describe({ fleet }: Plan, samples: Samples, trouble: Trouble): Figure {
  const { processes, players, sessions, seconds, heartbeatSeconds } = fleet;
  return {
    name: 'fleet',
    title: `${sessions.toLocaleString('en-US')} sleeping devices on one machine`,
    notes: [
      `\`serve --processes ${processes}\`, default settings; ${players} Node processes play ${sessions / players} devices ` +
        `each, all on this machine, ${concurrency} logins under way at once. Then ${seconds} s with a heartbeat of each ` +
        `device every ${heartbeatSeconds} s, after which all must be there.`,
      'PSS: a process’s own memory and its share of what it has in common with the others, the store’s pages among it. ' +
        'Nobody is made to collect its garbage first. Bytes/session: what that grew by since before the first login; sockets’ ' +
        'memory in the kernel is in none of these.',
      'Tried again: logins that a full worker turned away, or that did not get through, and that came in later.',
    ],
    columns: [
      { metric: 'pss', title: 'PSS, MiB', digits: 1 },
      { metric: 'anon', title: 'RssAnon, MiB', digits: 1 },
      { metric: 'bytes', title: 'PSS bytes/session', digits: 0 },
      { metric: 'anonBytes', title: 'RssAnon bytes/session', digits: 0 },
      { metric: 'sessions', title: 'sessions', digits: 0 },
      { metric: 'least', title: 'of a worker, least', digits: 0 },
      { metric: 'most', title: 'most', digits: 0 },
      { metric: 'loginRate', title: 'logins/s', digits: 0 },
      { metric: 'again', title: 'tried again', digits: 0 },
      { metric: 'heartbeats', title: 'heartbeats/s', digits: 0 },
    ],
    samples,
    targets: [
      {
        what: 'sessions held after it',
        measured: samples.compare('sessions', 'all', 'all', (own) => own),
        bound: { kind: 'at least', value: sessions },
        digits: 0,
      },
      {
        what: 'the worker with most / the one with least',
        measured: samples.compare(
          'most',
          'all',
          'all',
          (most) => most / Math.min(...samples.values('all', 'least')),
        ),
        bound: null,
        digits: 3,
      },
    ],
    trouble: trouble.list,
  };
}
