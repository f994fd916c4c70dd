/** Figure: memory of one sleeping device, against bare sockets and MQTT clients with one subscription. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DialectName } from './dialects.ts';
import type { Figure, Target } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, startPlayers } from './players.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { startPeer, startReveille, type PeerName, type ServerUnderTest } from './servers.ts';
import { Trouble } from './trouble.ts';

interface Contender {
  readonly name: string;
  readonly dialect: DialectName;
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const peer = (name: string, dialect: DialectName, peerName: PeerName): Contender => ({
  name,
  dialect,
  start: () => startPeer(peerName),
});

const contenders: readonly Contender[] = [
  peer('bare node:net', 'silent', 'bare-net'),
  peer('aedes', 'mqtt-subscribed', 'aedes'),
  { name: 'Reveille', dialect: 'reveille', start: (devices) => startReveille({ devices }) },
];

export async function measureMemory(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const { sessions } = plan.memory;
  await interleave(contenders, plan.runs, async (contender) => {
    samples.add(contender.name, await measure(contender, plan, trouble));
  });
  return {
    name: 'memory',
    title: 'Memory of a sleeping device',
    notes: [
      `(RssAnon with ${sessions} sessions − before) / ${sessions}, each after two forced collections; every ` +
        'structure of the process included. Default settings.',
      `${sessions} and not 19 000: this machine allows a process 20 000 descriptors, of which the sleep port leaves ` +
        '1 024 to the rest.',
      'Bare: accepted sockets in a Set with the same four shared listeners, no protocol. aedes: one subscription each, ' +
        'keepalive of 50 s, its defaults.',
      'Alive in the heap: the growth of V8’s heapUsed and external, without the sockets’ native parts; shown because RssAnon also ' +
        'moves with what an allocator keeps free before and after.',
    ],
    columns: [
      { metric: 'bytes', title: 'bytes/device', digits: 0 },
      { metric: 'liveBytes', title: 'alive in the heap and its buffers', digits: 0 },
      { metric: 'before', title: 'RssAnon before, MiB', digits: 1 },
      { metric: 'after', title: 'RssAnon after, MiB', digits: 1 },
    ],
    samples,
    targets: [
      target(samples, 'bytes', 'bare node:net', 1.15),
      target(samples, 'bytes', 'aedes', 0.4),
      target(samples, 'liveBytes', 'bare node:net', null),
      target(samples, 'liveBytes', 'aedes', null),
    ],
    trouble: trouble.list,
  };
}

function target(
  samples: Samples,
  metric: 'bytes' | 'liveBytes',
  theirs: string,
  atMost: number | null,
): Target {
  return {
    what: `Reveille / ${theirs}${metric === 'liveBytes' ? ', alive in the heap' : ''}`,
    measured: samples.compare(metric, 'Reveille', theirs, ratio),
    bound: atMost === null ? null : { kind: 'at most', value: atMost },
    digits: 2,
  };
}

const mebibyte = 1024 * 1024;

async function measure(
  { name, dialect, start }: Contender,
  { memory: { sessions }, restSeconds }: Plan,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const server = await start(sessions);
  const fleet = startPlayers();
  try {
    const { probe } = server.child;
    const port = server.devicePort;
    await sleep(restSeconds * 1000);
    const before = await probe.ask('memory', null);
    await logIn(fleet, { port, dialect, count: sessions }, trouble);
    await sleep(restSeconds * 1000);
    const after = await probe.ask('memory', null);
    await expectNoneLost(fleet, name, trouble);
    return {
      bytes: (after.rssAnonBytes - before.rssAnonBytes) / sessions,
      liveBytes: (after.liveBytes - before.liveBytes) / sessions,
      before: before.rssAnonBytes / mebibyte,
      after: after.rssAnonBytes / mebibyte,
    };
  } finally {
    await server.stop();
    await fleet.child.stop();
  }
}
