/** Figure: what a registry costs the more devices it has: to import, on disk, to look up, to start with, in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { importInWorker } from '../../src/storage/registry/import-in-worker.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import { bytesIn, deviceIdAt, makeRegistryFile } from '../support/registry-file.ts';
import type { Figure } from './figure.ts';
import type { Plan } from './plan.ts';
import { Samples } from './samples.ts';
import { startReveille } from './servers.ts';
import { Trouble } from './trouble.ts';

const mebibyte = 1024 * 1024;
const betweenTurnsMs = 5;

type Metrics = Record<string, number>;

export async function measureRegistry(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  for (let run = 0; run < plan.runs; run += 1)
    for (const devices of plan.registry.levels)
      samples.add(rowOf(devices), await measure(devices, plan, trouble));
  return describe(plan, samples, trouble);
}

function rowOf(devices: number): string {
  return `${devices.toLocaleString('en-US')} devices`;
}

async function measure(devices: number, plan: Plan, trouble: Trouble): Promise<Metrics> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-registry-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const file = join(directory, 'registry.ndjson');
    makeRegistryFile(file, devices);
    const state = join(directory, 'state');
    const imported = await measureStore(state, { file, devices, lookups: plan.registry.lookups }, trouble);
    return { devices, ...imported, ...(await measureStart(state)) };
  } finally {
    process.off('exit', remove);
    remove();
  }
}

interface Import {
  readonly file: string;
  readonly devices: number;
  readonly lookups: number;
}

/** As a server does it: on a thread, while the main thread has its turns. */
async function measureStore(
  state: string,
  { file, devices, lookups }: Import,
  trouble: Trouble,
): Promise<Metrics> {
  const store = openStore(state);
  const registry = new RegistryStore(store.registry);
  const turns = new Turns();
  const startMs = performance.now();
  const result = await importInWorker(store.directory, { file, replace: false, skipUnchanged: true });
  const importSeconds = (performance.now() - startMs) / 1000;
  const gapMs = turns.end();
  if (!result.ok) trouble.add(result.error.message);
  registry.purge();
  const lookupUs = timeLookups(registry, devices, lookups);
  await store.close();
  return {
    importSeconds,
    importRate: devices / importSeconds,
    gapMs,
    lookupUs,
    diskBytes: bytesIn(state) / devices,
  };
}

/** The longest time between two turns of the event loop. */
class Turns {
  #lastMs = performance.now();
  #longestMs = 0;
  readonly #timer = setInterval(() => {
    const nowMs = performance.now();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }, betweenTurnsMs);

  end(): number {
    clearInterval(this.#timer);
    return this.#longestMs;
  }
}

/** Of devices that no cache has: any of all of them. */
function timeLookups(registry: RegistryStore, devices: number, lookups: number): number {
  const ids = Array.from({ length: lookups }, () => deviceIdAt(Math.floor(Math.random() * devices)));
  const startMs = performance.now();
  for (const id of ids) if (registry.find('device', id) === null) throw new Error(`${id} is not there`);
  return ((performance.now() - startMs) / lookups) * 1000;
}

async function measureStart(state: string): Promise<Metrics> {
  const startMs = performance.now();
  const server = await startReveille({ devices: 0, core: null, env: { REVEILLE_DATA_DIR: state } });
  const startSeconds = (performance.now() - startMs) / 1000;
  try {
    const { rssAnonBytes } = await server.child.probe.ask('memory', null);
    return { startSeconds, memory: rssAnonBytes / mebibyte };
  } finally {
    await server.stop();
  }
}

function describe({ registry }: Plan, samples: Samples, trouble: Trouble): Figure {
  return {
    name: 'registry',
    title: 'The more devices in the registry',
    notes: [
      'Imported from a file of one device a line, in no order, on a thread of a process whose main thread is idle; longest gap: ' +
        'between two turns of that thread.',
      `A look-up: of one device of all, ${registry.lookups} at random, none from a cache. Disk: all files of the store.`,
      'Start: from the start of the process (from its sources) to `ready`, with what was imported before. Memory: RssAnon then, ' +
        'after two forced collections.',
    ],
    columns: [
      { metric: 'importSeconds', title: 'import s', digits: 2 },
      { metric: 'importRate', title: 'devices/s', digits: 0 },
      { metric: 'gapMs', title: 'longest gap ms', digits: 0 },
      { metric: 'diskBytes', title: 'disk bytes/device', digits: 0 },
      { metric: 'lookupUs', title: 'look-up µs', digits: 2 },
      { metric: 'startSeconds', title: 'start s', digits: 2 },
      { metric: 'memory', title: 'memory MiB', digits: 0 },
    ],
    samples,
    targets: [],
    trouble: trouble.list,
  };
}
