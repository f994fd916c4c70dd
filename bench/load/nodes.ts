/** Figure: a registry of a million devices, from one node through NATS to a new one that has nothing. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bytesIn, makeRegistryFile } from '../support/registry-file.ts';
import { CpuTally, memoryOf, relativeOf } from './family.ts';
import type { Figure } from './figure.ts';
import { hasNats, natsIsMissing, NatsUnderTest } from './nats.ts';
import type { Plan } from './plan.ts';
import { ratio, Samples } from './samples.ts';
import { startReveille, type ReveilleServer } from './servers.ts';
import { Trouble } from './trouble.ts';

const imported = 'alone: imported at its start';
const importedByNode = 'node A: imported at its start';
const shared = 'node A: the rest shared into NATS';
const mirrored = 'node B: mirrored at its start';
const newNodeSecondsMax = 60;
const sharedMsMax = 400_000;
/** An application and a product. */
const otherEntries = 2;
const mebibyte = 1024 * 1024;

export async function measureNodes(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  const withNats = hasNats();
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-registry-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const file = join(directory, 'registry.ndjson');
    makeRegistryFile(file, plan.nodes.devices);
    for (let run = 0; run < plan.runs; run += 1) {
      await measureAlone(file, plan, samples);
      if (withNats) await measureMirror({ file, plan, samples, trouble });
    }
    return describe(plan, samples, trouble, withNats);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

async function measureAlone(file: string, plan: Plan, samples: Samples): Promise<void> {
  const startMs = performance.now();
  const server = await startReveille({ devices: 0, core: null, env: { REVEILLE_REGISTRY_FILE: file } });
  try {
    samples.add(imported, { ...rateOf(startMs, plan), nodeCpu: await cpuSinceStart(server) });
  } finally {
    await server.stop();
  }
}

interface Study {
  readonly file: string;
  readonly plan: Plan;
  readonly samples: Samples;
  readonly trouble: Trouble;
}

async function measureMirror({ file, plan, samples, trouble }: Study): Promise<void> {
  const nats = await NatsUnderTest.start(null);
  const natsTally = (): CpuTally => new CpuTally([{ name: 'nats', pid: nats.pid }]);
  const nodes: ReveilleServer[] = [];
  const start = async (name: string, env: Readonly<Record<string, string>>): Promise<ReveilleServer> => {
    const node = await startReveille({ devices: 0, core: null, env: { ...nats.nodeEnv(name), ...env } });
    nodes.push(node);
    return node;
  };
  try {
    const [startMs, importTally] = [performance.now(), natsTally()];
    const a = await start('a', { REVEILLE_REGISTRY_FILE: file });
    samples.add(importedByNode, {
      ...rateOf(startMs, plan),
      nodeCpu: await cpuSinceStart(a),
      natsCpu: importTally.read(),
    });
    const [sharingMs, tallies] = [
      performance.now(),
      [new CpuTally([relativeOf('node', a)]), natsTally()] as const,
    ];
    const kept = await nats.keepsRegistry(plan.nodes.devices + otherEntries, sharedMsMax);
    samples.add(shared, {
      ...rateOf(sharingMs, plan),
      nodeCpu: tallies[0].read(),
      natsCpu: tallies[1].read(),
      natsDisk: kept.bytes / mebibyte,
      natsMemory: memoryOf(nats.pid).rssAnonBytes / mebibyte,
    });
    const [mirrorMs, mirrorTally] = [performance.now(), natsTally()];
    const b = await start('b', {});
    samples.add(mirrored, {
      ...rateOf(mirrorMs, plan),
      nodeCpu: await cpuSinceStart(b),
      natsCpu: mirrorTally.read(),
      natsDisk: kept.bytes / mebibyte,
      natsMemory: memoryOf(nats.pid).rssAnonBytes / mebibyte,
      nodeDisk: bytesIn(b.dataDirectory) / mebibyte,
    });
    const lag = await lagOf(b);
    if (lag !== 0) trouble.add(`the new node is ready and ${lag} changes behind`);
  } finally {
    for (const node of nodes) await node.stop();
    await nats.stop();
  }
}

function rateOf(startMs: number, { nodes: { devices } }: Plan): Record<string, number> {
  const seconds = (performance.now() - startMs) / 1000;
  return { seconds, rate: devices / seconds };
}

/** Of threads too that have ended, such as the one that imports. */
async function cpuSinceStart({ child }: ReveilleServer): Promise<number> {
  return (await child.probe.ask('read', null)).cpuSeconds;
}

async function lagOf({ opsPort }: ReveilleServer): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  return Number(/^reveille_cluster_registry_lag_changes (\d+)/m.exec(text)?.[1] ?? NaN);
}

function describe(
  { nodes: { devices } }: Plan,
  samples: Samples,
  trouble: Trouble,
  withNats: boolean,
): Figure {
  return {
    name: 'nodes',
    title: `A registry of ${devices.toLocaleString('en-US')} devices at a new node`,
    notes: [
      'Imported: a server with `registry.file`, from the start of its process to `ready`, alone and as the first node; how ' +
        'much longer it then takes until NATS has all. Mirrored: a second node with nothing, from the start of its process ' +
        'to `ready`, which it says when it has all.',
      'Nothing is pinned; one node works at a time, beside nats-server.',
      ...(withNats ? [] : [`Not measured: nodes; ${natsIsMissing}.`]),
    ],
    columns: [
      { metric: 'seconds', title: 'seconds', digits: 1 },
      { metric: 'rate', title: 'devices/s', digits: 0 },
      { metric: 'nodeCpu', title: 'the node’s CPU s', digits: 1 },
      { metric: 'natsCpu', title: 'NATS’s CPU s', digits: 1 },
      { metric: 'natsDisk', title: 'in NATS, MiB', digits: 0 },
      { metric: 'natsMemory', title: 'NATS’s RssAnon, MiB', digits: 0 },
      { metric: 'nodeDisk', title: 'the node’s data, MiB', digits: 0 },
    ],
    samples,
    targets: withNats
      ? [
          {
            what: 'node B, seconds until it has all',
            measured: samples.compare('seconds', mirrored, mirrored, (own) => own),
            bound: { kind: 'at most', value: newNodeSecondsMax },
            digits: 1,
          },
          {
            what: 'mirrored / imported alone, seconds',
            measured: samples.compare('seconds', mirrored, imported, ratio),
            bound: null,
            digits: 2,
          },
          {
            what: 'imported by a node / alone, seconds',
            measured: samples.compare('seconds', importedByNode, imported, ratio),
            bound: null,
            digits: 2,
          },
        ]
      : [],
    trouble: trouble.list,
  };
}
