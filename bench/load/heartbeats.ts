/** Figure: what a second full of heartbeats does to the event loop, against the same process at rest. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DialectName } from './dialects.ts';
import type { Figure } from './figure.ts';
import type { Plan } from './plan.ts';
import { expectNoneLost, logIn, startPlayers } from './players.ts';
import { interleave } from './rounds.ts';
import { Samples } from './samples.ts';
import { startPeer, startReveille, type ServerUnderTest } from './servers.ts';
import { Trouble } from './trouble.ts';

interface Contender {
  readonly name: string;
  readonly dialect: DialectName;
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const contenders: readonly Contender[] = [
  { name: 'bare node:net', dialect: 'silent', start: () => startPeer('bare-net') },
  { name: 'Reveille', dialect: 'reveille', start: (devices) => startReveille({ devices }) },
];

/** After the logins, before anything is measured. */
const settleMs = 1000;

export async function measureHeartbeats(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const { sessions, seconds } = plan.heartbeats;
  await interleave(contenders, plan.runs, async (contender) => {
    samples.add(contender.name, await measure(contender, plan, trouble));
  });
  return {
    name: 'heartbeats',
    title: 'Heartbeats',
    notes: [
      `${sessions} sessions that all send their 64 bytes within one second, evenly over it, ${seconds} such seconds; ` +
        `before it ${seconds} s in which nothing is sent. Default settings.`,
      'Event loop delay is between two turns of a 1 ms timer, that 1 ms included.',
      'Bare node:net throws the bytes away: what the runtime itself takes.',
    ],
    columns: [
      { metric: 'idleP99', title: 'idle loop delay p99 ms', digits: 2 },
      { metric: 'busyP99', title: 'loop delay p99 ms', digits: 2 },
      { metric: 'busyMax', title: 'loop delay max ms', digits: 2 },
      { metric: 'cpuUs', title: 'server CPU µs/heartbeat', digits: 1 },
    ],
    samples,
    targets: contenders.map(({ name }) => ({
      what: `${name}, p99 above idle, ms`,
      measured: samples.compare('addedP99', name, name, (added) => added),
      bound: name === 'Reveille' ? { kind: 'at most', value: 5 } : null,
      digits: 2,
    })),
    trouble: trouble.list,
  };
}

async function measure(
  { name, dialect, start }: Contender,
  { heartbeats: { sessions, seconds } }: Plan,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const server = await start(sessions);
  const fleet = startPlayers();
  const { probe } = server.child;
  try {
    await logIn(fleet, { port: server.devicePort, dialect, count: sessions }, trouble);
    await sleep(settleMs);
    await probe.ask('reset', null);
    await sleep(seconds * 1000);
    const idle = await probe.ask('read', null);
    await probe.ask('reset', null);
    const sent = await fleet.service.ask('heartbeats', seconds);
    const busy = await probe.ask('read', null);
    await expectNoneLost(fleet, name, trouble);
    return {
      idleP99: idle.loopDelayMs.p99,
      busyP99: busy.loopDelayMs.p99,
      busyMax: busy.loopDelayMs.max,
      addedP99: busy.loopDelayMs.p99 - idle.loopDelayMs.p99,
      cpuUs: (busy.cpuSeconds / sent) * 1e6,
    };
  } finally {
    await server.stop();
    await fleet.child.stop();
  }
}
