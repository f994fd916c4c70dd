/** Figure: memory of one signal session and how fast a burst of them is taken, against bare WebSockets of the `ws` library. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, Target } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, loginConcurrency, startPlayers } from './players.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startPeer, startReveille, type ServerUnderTest } from './servers.ts';
import { Trouble } from './trouble.ts';

interface Contender {
  readonly name: string;
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const bare: Contender = { name: 'bare ws', start: () => startPeer('bare-ws-sockets') };
const ours: Contender = { name: 'Reveille', start: (devices) => startReveille({ devices }) };

export async function measureSignal(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  await interleave([bare, ours], plan.runs, async (contender) => {
    samples.add(contender.name, await measure(contender, plan, trouble));
  });
  return describe(plan, samples, trouble);
}

const mebibyte = 1024 * 1024;

async function measure(
  { name, start }: Contender,
  { signal: { sessions, further }, restSeconds }: Plan,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const server = await start(sessions + further);
  const fleet = startPlayers();
  try {
    const { probe } = server.child;
    await fleet.service.ask('lost', null);
    await sleep(restSeconds * 1000);
    const before = await probe.ask('memory', null);
    await probe.ask('reset', null);
    const plan = { port: server.signalPort, dialect: 'signal', count: sessions } as const;
    const { loggedIn, startedMs, endedMs } = await logIn(fleet, plan, trouble);
    const spent = await probe.ask('read', null);
    const after = await probe.ask('memory', null);
    await sleep(restSeconds * 1000);
    const steady = await probe.ask('memory', null);
    await logIn(fleet, { ...plan, from: sessions, count: further }, trouble);
    await sleep(restSeconds * 1000);
    const last = await probe.ask('memory', null);
    await expectNoneLost(fleet, name, trouble);
    return {
      bytes: (after.rssAnonBytes - before.rssAnonBytes) / sessions,
      steadyBytes: (last.rssAnonBytes - steady.rssAnonBytes) / further,
      liveBytes: (after.liveBytes - before.liveBytes) / sessions,
      before: before.rssAnonBytes / mebibyte,
      after: after.rssAnonBytes / mebibyte,
      rate: loggedIn / ((endedMs - startedMs) / 1000),
      cpuUs: (spent.cpuSeconds / sessions) * 1e6,
      perCpuSecond: sessions / spent.cpuSeconds,
      busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
    };
  } finally {
    await server.stop();
    await fleet.child.stop();
  }
}

function describe({ signal, restSeconds }: Plan, samples: Samples, trouble: Trouble): Figure {
  const { sessions, further } = signal;
  return {
    name: 'signal',
    title: 'Signal sessions',
    notes: [
      `A burst of ${sessions} controllers into a fresh server, ${loginConcurrency} under way at once, from 40 ` +
        'addresses: connect, upgrade, challenge, login with its proof, welcome. Default settings; none may be lost.',
      `Memory: (RssAnon with ${sessions} sessions − before) / ${sessions}, each after two forced collections; every ` +
        'structure of the process included. Alive in the heap: the growth of V8’s heapUsed and external.',
      `In steady state: what ${further} further ones add to that, each time behind ${restSeconds} s of rest and two more collections, ` +
        'divided by their number. What a process needs once (V8’s young generation grows in a storm, code is compiled, the newest ' +
        'events are kept) is in the first figure and not in this one. Bare’s first figure says nothing: its sessions find room in what ' +
        'its start has left free.',
      'Bare: the ws library on a plain HTTP server, without compression; it sends a challenge and a welcome of the same size, ' +
        'accepts any login, proves nothing and records nothing.',
      'One Node process plays all controllers, WebSocket by hand, and has their proofs to make: where a server is less than ' +
        'about 95 % busy its rate is that process’s, and logins per server CPU-second count.',
    ],
    columns: [
      { metric: 'bytes', title: 'bytes/session', digits: 0 },
      { metric: 'steadyBytes', title: 'bytes/session in steady state', digits: 0 },
      { metric: 'liveBytes', title: 'alive in the heap and its buffers', digits: 0 },
      { metric: 'before', title: 'RssAnon before, MiB', digits: 1 },
      { metric: 'after', title: 'RssAnon after, MiB', digits: 1 },
      { metric: 'rate', title: 'logins/s', digits: 0 },
      { metric: 'cpuUs', title: 'server CPU µs/login', digits: 1 },
      { metric: 'perCpuSecond', title: 'logins per server CPU-second', digits: 0 },
      { metric: 'busy', title: 'server busy %', digits: 0 },
    ],
    samples,
    targets: [
      {
        ...against(samples, 'steadyBytes', 'bytes/session in steady state'),
        bound: { kind: 'at most', value: 2 },
      },
      against(samples, 'bytes', 'bytes/session'),
      against(samples, 'liveBytes', 'alive in the heap'),
      against(samples, 'rate', 'logins/s'),
      against(samples, 'perCpuSecond', 'logins per server CPU-second'),
    ],
    trouble: trouble.list,
  };
}

function against(samples: Samples, metric: string, what: string): Target {
  return {
    what: `Reveille / bare, ${what}`,
    measured: samples.compare(metric, ours.name, bare.name, ratio),
    bound: null,
    digits: 2,
  };
}
