/** Figure: how fast a burst of logins is taken, against accepting alone and MQTT's CONNECT. */
import type { DialectName } from './dialects.ts';
import type { Figure } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, loginConcurrency, startPlayers } from './players.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startPeer, startReveille, type PeerServer, type ServerUnderTest } from './servers.ts';
import { Trouble } from './trouble.ts';

interface Contender {
  readonly name: string;
  readonly dialect: DialectName;
  start(devices: number): Promise<{ server: ServerUnderTest; peer: PeerServer | null }>;
}

const contenders: readonly Contender[] = [
  { name: 'bare accept', dialect: 'silent', start: () => startSilent() },
  { name: 'aedes', dialect: 'mqtt', start: async () => ({ server: await startPeer('aedes'), peer: null }) },
  {
    name: 'Reveille',
    dialect: 'reveille',
    start: async (devices) => ({ server: await startReveille({ devices }), peer: null }),
  },
];

/** It says nothing to a device, so it is asked itself when all have come. */
async function startSilent(): Promise<{ server: ServerUnderTest; peer: PeerServer }> {
  const peer = await startPeer('bare-net');
  return { server: peer, peer };
}

export async function measureLogins(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const { count } = plan.logins;
  await interleave(contenders, plan.runs, async (contender) => {
    samples.add(contender.name, await measure(contender, count, trouble));
  });
  return {
    name: 'logins',
    title: 'Logins',
    notes: [
      `A burst of ${count} devices into a fresh server, ${loginConcurrency} under way at once, from 40 addresses: ` +
        'connect, session key, login line with its proof, OK. Default settings; none may be lost.',
      'Bare accept: node:net accepts and holds, and says nothing. aedes: CONNECT to CONNACK, no authentication.',
      'One Node process plays all devices and is used up before the servers are (see "server busy"): logins per ' +
        'server CPU-second is what a core would take.',
    ],
    columns: [
      { metric: 'rate', title: 'logins/s', digits: 0 },
      { metric: 'cpuUs', title: 'server CPU µs/login', digits: 1 },
      { metric: 'perCpuSecond', title: 'logins per server CPU-second', digits: 0 },
      { metric: 'busy', title: 'server busy %', digits: 0 },
    ],
    samples,
    targets: [
      {
        what: 'Reveille, logins/s',
        measured: samples.compare('rate', 'Reveille', 'Reveille', (own) => own),
        bound: null,
        digits: 0,
      },
      {
        what: 'Reveille / aedes, rate',
        measured: samples.compare('rate', 'Reveille', 'aedes', ratio),
        bound: null,
        digits: 2,
      },
      {
        what: 'Reveille / aedes, logins per server CPU-second',
        measured: samples.compare('perCpuSecond', 'Reveille', 'aedes', ratio),
        bound: { kind: 'at least', value: 2 },
        digits: 2,
      },
      {
        what: 'Reveille / bare accept, server CPU per login',
        measured: samples.compare('cpuUs', 'Reveille', 'bare accept', ratio),
        bound: { kind: 'at most', value: 3 },
        digits: 2,
      },
    ],
    trouble: trouble.list,
  };
}

async function measure(
  contender: Contender,
  count: number,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const { server, peer } = await contender.start(count);
  const fleet = startPlayers();
  try {
    await fleet.service.ask('lost', null);
    await server.child.probe.ask('reset', null);
    const allConnected = peer?.service.ask('connected', count);
    const { dialect } = contender;
    const reading = await logIn(fleet, { port: server.devicePort, dialect, count }, trouble);
    const endedMs = Math.max(reading.endedMs, (await allConnected) ?? 0);
    const spent = await server.child.probe.ask('read', null);
    await expectNoneLost(fleet, contender.name, trouble);
    const seconds = (endedMs - reading.startedMs) / 1000;
    return {
      rate: reading.loggedIn / seconds,
      cpuUs: (spent.cpuSeconds / count) * 1e6,
      perCpuSecond: count / spent.cpuSeconds,
      busy: (spent.cpuSeconds / spent.wallSeconds) * 100,
    };
  } finally {
    await server.stop();
    await fleet.child.stop();
  }
}
