/** Memory of a sleeping device and of a signal session, against bare sockets, WebSockets and MQTT clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, interleave, ratioTo, type Benchmark, type Measurement } from '../harness/benchmark.ts';
import { startPeer, startReveille, type ReveilleServer, type ServerUnderTest } from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';
import type { DialectName } from '../load/dialects.ts';
import { expectNoneLost, logIn, startPlayers } from '../load/players.ts';

/**
 * 18 900: the usual limit of 20 000 descriptors less the 1 024 that the sleep port reserves for the rest. `awakeBefore`: signal
 * sessions before the measured ones. `restSeconds`: V8 returns the memory of a storm after 5 s without load.
 */
const plans = {
  full: { asleep: 18_900, awakeBefore: 6000, awake: 12_000, restSeconds: 6 },
  smoke: { asleep: 300, awakeBefore: 300, awake: 100, restSeconds: 0 },
};
type Plan = (typeof plans)['full'];

interface Contender {
  readonly row: string;
  readonly dialect: DialectName;
  readonly state: 'asleep' | 'awake';
  readonly start: (devices: number) => Promise<ServerUnderTest>;
}

const contenders: readonly Contender[] = [
  { row: 'bare node:net', dialect: 'silent', state: 'asleep', start: () => startPeer('bare-net') },
  { row: 'aedes', dialect: 'mqtt-subscribed', state: 'asleep', start: () => startPeer('aedes') },
  { row: 'asleep', dialect: 'reveille', state: 'asleep', start: (devices) => startReveille({ devices }) },
  { row: 'ws', dialect: 'signal', state: 'awake', start: () => startPeer('ws-sessions') },
  { row: 'awake', dialect: 'signal', state: 'awake', start: startForSignal },
];

async function startForSignal(devices: number): Promise<ServerUnderTest> {
  const server: ReveilleServer = await startReveille({ devices });
  return { ...server, devicePort: server.signalPort };
}

function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  return interleave(contenders, runs, async (contender) =>
    samples.add(contender.row, await measureOne(contender, plans[scale], trouble)),
  );
}

async function measureOne(
  { row, dialect, state, start }: Contender,
  { asleep, awakeBefore, awake, restSeconds }: Plan,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const [from, count] = state === 'asleep' ? [0, asleep] : [awakeBefore, awake];
  const server = await start(from + count);
  const fleet = startPlayers();
  try {
    const { probe } = server.child;
    const port = server.devicePort;
    await logIn(fleet, { port, dialect, count: from }, trouble);
    await sleep(restSeconds * 1000);
    const before = await probe.ask('memory', null);
    await logIn(fleet, { port, dialect, from, count }, trouble);
    await sleep(restSeconds * 1000);
    const after = await probe.ask('memory', null);
    await expectNoneLost(fleet, row, trouble);
    return {
      bytes: (after.rssAnonBytes - before.rssAnonBytes) / count,
      liveBytes: (after.liveBytes - before.liveBytes) / count,
    };
  } finally {
    await server.stop();
    await fleet.stop();
  }
}

const { asleep, awakeBefore, awake } = plans.full;

export const memory: Benchmark = {
  title: 'Memory of a sleeping device',
  runs: 3,
  notes: [
    `Growth of RssAnon after two forced collections, divided by the sessions: ${asleep} that sleep (20 000 descriptors), or ` +
      `${awake} signal sessions behind the first ${awakeBefore}. Alive: V8’s heap and buffers alone.`,
    'Bare `node:net`: sockets in a Set. aedes: one subscription each. `ws`: a session for each device in a Map and the heartbeat of its ' +
      'own documentation, with a challenge and a welcome of the same size.',
  ],
  columns: [
    { metric: 'bytes', title: 'bytes/device', digits: 0 },
    { metric: 'liveBytes', title: 'alive, bytes/device', digits: 0 },
  ],
  targets: [
    {
      what: 'Memory of a sleeping device, against a bare socket',
      row: 'asleep',
      metric: 'bytes',
      unit: 'B',
      compared: ratioTo('bare node:net'),
      bound: atMost(1.15),
    },
    {
      what: '… against a client of aedes',
      row: 'asleep',
      metric: 'bytes',
      unit: 'B',
      compared: ratioTo('aedes'),
      bound: atMost(0.4),
    },
    {
      what: 'Memory of a signal session, against one of `ws`',
      row: 'awake',
      metric: 'bytes',
      unit: 'B',
      compared: ratioTo('ws'),
      bound: atMost(1),
    },
  ],
  measure,
};
