/** Figure: the sessions of a node that is killed, ended by another one. */
import { CpuTally, relativeOf } from './family.ts';
import type { Figure } from './figure.ts';
import { hasNats, natsIsMissing, NatsUnderTest } from './nats.ts';
import { monotonicMs } from './peer-protocol.ts';
import type { Plan } from './plan.ts';
import { logIn, startPlayers } from './players.ts';
import { registryEntries } from './population.ts';
import { microsEach } from './process-time.ts';
import { Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';

const survivor = 'node B';
const events = 'reveille_events';
const secondsMax = 20;
const waitMsMax = 120_000;

export async function measureFailover(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const withNats = hasNats();
  const runs = withNats ? plan.runs : 0;
  for (let run = 0; run < runs; run += 1) await measure(plan, samples, trouble);
  return describe(plan, samples, trouble, withNats);
}

async function measure(plan: Plan, samples: Samples, trouble: Trouble): Promise<void> {
  const { sessions } = plan.failover;
  const nats = await NatsUnderTest.start(null);
  const nodes: ReveilleServer[] = [];
  const fleet = startPlayers(null);
  const start = async (name: string, devices: number): Promise<ReveilleServer> => {
    const node = await startReveille({ devices, core: null, env: nats.nodeEnv(name) });
    nodes.push(node);
    return node;
  };
  try {
    const a = await start('a', sessions);
    await nats.keepsRegistry(registryEntries(sessions));
    const b = await start('b', 0);
    const { devicePort: port } = a;
    await logIn(fleet, { dialect: 'reveille', port, count: sessions }, trouble);
    const { messages: before } = await nats.keeps(events, sessions, waitMsMax);
    const tally = new CpuTally([relativeOf('b', b), { name: 'nats', pid: nats.pid }]);
    const killedMs = monotonicMs();
    a.child.kill();
    await nats.keeps(events, before + 1, waitMsMax);
    const begunMs = monotonicMs();
    await nats.keeps(events, before + sessions, waitMsMax);
    const endedMs = monotonicMs();
    samples.add(survivor, {
      noticed: (begunMs - killedMs) / 1000,
      seconds: (endedMs - killedMs) / 1000,
      rate: sessions / ((endedMs - begunMs) / 1000),
      cpuUs: microsEach(tally.read('b'), sessions),
      natsUs: microsEach(tally.read('nats'), sessions),
    });
  } finally {
    for (const node of nodes) await node.stop();
    await fleet.child.stop();
    await nats.stop();
  }
}

function describe({ failover }: Plan, samples: Samples, trouble: Trouble, withNats: boolean): Figure {
  return {
    name: 'failover',
    title: `${failover.sessions.toLocaleString('en-US')} sessions of a node that is killed`,
    notes: [
      'Two nodes and one nats-server; all devices sleep at node A, which is killed with -9. Until node B begins to end its ' +
        'sessions in the log that all share, and until the last one is ended.',
      'Nothing is pinned: the node that is left and nats-server share the machine’s processors.',
      ...(withNats ? [] : [`Not measured: ${natsIsMissing}.`]),
    ],
    columns: [
      { metric: 'noticed', title: 'seconds to the first', digits: 1 },
      { metric: 'seconds', title: 'seconds to the last', digits: 1 },
      { metric: 'rate', title: 'sessions/s between', digits: 0 },
      { metric: 'cpuUs', title: 'CPU µs/session of node B', digits: 0 },
      { metric: 'natsUs', title: 'of NATS', digits: 0 },
    ],
    samples,
    targets: withNats
      ? [
          {
            what: 'seconds until the last is ended',
            measured: samples.compare('seconds', survivor, survivor, (own) => own),
            bound: { kind: 'at most', value: secondsMax },
            digits: 1,
          },
        ]
      : [],
    trouble: trouble.list,
  };
}
