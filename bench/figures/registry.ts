/** The cost of a registry by its devices: import, disk, look-up, start, memory; the floor is a small registry. */
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeviceId } from '../../src/model/ids.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { importInWorker } from '../../src/storage/registry/registry-thread.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import { ratioTo, type Benchmark, type Measurement } from '../harness/benchmark.ts';
import { startReveille } from '../harness/servers.ts';
import type { Trouble } from '../harness/trouble.ts';

const plans = {
  full: { levels: [10_000, 100_000, 1_000_000], lookups: 100_000 },
  smoke: { levels: [1000, 5000], lookups: 1000 },
};
const mebibyte = 1024 * 1024;
const betweenTurnsMs = 5;

async function measure({ scale, runs, samples, trouble }: Measurement): Promise<void> {
  const { levels, lookups } = plans[scale];
  for (let run = 0; run < runs; run += 1)
    for (const devices of levels) samples.add(rowOf(devices), await measureLevel(devices, lookups, trouble));
}

function rowOf(devices: number): string {
  return `${devices.toLocaleString('en-US')} devices`;
}

async function measureLevel(
  devices: number,
  lookups: number,
  trouble: Trouble,
): Promise<Record<string, number>> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-registry-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const file = join(directory, 'registry.ndjson');
    writeRegistry(file, devices);
    const state = join(directory, 'state');
    const imported = await measureImport(state, file, trouble);
    const lookupUs = await measureLookups(state, devices, lookups);
    const diskBytes = bytesIn(state) / devices;
    const importRate = devices / imported.importSeconds;
    return { ...imported, importRate, lookupUs, diskBytes, ...(await measureStart(state)) };
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** Imports like a server: on a thread, while the main thread keeps running. */
async function measureImport(
  state: string,
  file: string,
  trouble: Trouble,
): Promise<{ importSeconds: number; gapMs: number }> {
  const store = openStore(state);
  let [lastMs, gapMs] = [performance.now(), 0];
  const timer = setInterval(() => {
    const nowMs = performance.now();
    gapMs = Math.max(gapMs, nowMs - lastMs);
    lastMs = nowMs;
  }, betweenTurnsMs);
  const startMs = performance.now();
  const result = await importInWorker(store.directory, { file, replace: false, skipUnchanged: true });
  const importSeconds = (performance.now() - startMs) / 1000;
  clearInterval(timer);
  if (!result.ok) trouble.add(result.error.message);
  await store.close();
  return { importSeconds, gapMs };
}

async function measureLookups(state: string, devices: number, lookups: number): Promise<number> {
  const store = openStore(state);
  const registry = new RegistryStore(store.registry);
  const ids = Array.from({ length: lookups }, () => deviceIdAt(Math.floor(Math.random() * devices)));
  const startMs = performance.now();
  for (const id of ids) if (registry.find('device', id) === null) throw new Error(`${id} is not there`);
  const lookupUs = ((performance.now() - startMs) / lookups) * 1000;
  await store.close();
  return lookupUs;
}

async function measureStart(state: string): Promise<Record<string, number>> {
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

/** Multiplication modulo 2^32 spreads the ids, so that neighbours in the file are not neighbours in the store. */
function deviceIdAt(number: number): DeviceId {
  return `DEV-${Math.imul(number, 0x9e3779b1) >>> 0}-${number}` as DeviceId;
}

function writeRegistry(file: string, devices: number): void {
  const line = (entry: object): string => `${JSON.stringify(entry)}\n`;
  const descriptor = openSync(file, 'w');
  let text = line({ kind: 'application', app_id: '2818153', name: 'bench' });
  text += line({ kind: 'product', product_id: 'doorbell', app_ids: ['2818153'] });
  for (let number = 0; number < devices; number++) {
    const secret = `secret-of-device-${number}-0123456789abcdef`;
    text += line({ kind: 'device', device_id: deviceIdAt(number), product_id: 'doorbell', secret });
    if (text.length < 1_000_000 && number < devices - 1) continue;
    writeSync(descriptor, text);
    text = '';
  }
  closeSync(descriptor);
}

function bytesIn(directory: string): number {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

const [least, most] = [rowOf(plans.full.levels[0] ?? 0), rowOf(plans.full.levels.at(-1) ?? 0)];
const ofMost = { row: most, compared: ratioTo(least), bound: null };

export const registry: Benchmark = {
  title: 'The more devices in the registry',
  runs: 2,
  notes: [
    'Imported from a file of one device a line, in no order, on a thread; longest gap: of the main thread. Disk: all files of the store.',
    `Look-up: ${plans.full.lookups} at random, none from a cache. Start: from the sources to \`ready\`. Memory: RssAnon then.`,
  ],
  columns: [
    { metric: 'importSeconds', title: 'import s', digits: 1 },
    { metric: 'importRate', title: 'devices/s', digits: 0 },
    { metric: 'gapMs', title: 'longest gap ms', digits: 0 },
    { metric: 'diskBytes', title: 'disk bytes/device', digits: 0 },
    { metric: 'lookupUs', title: 'look-up µs', digits: 2 },
    { metric: 'startSeconds', title: 'start s', digits: 2 },
    { metric: 'memory', title: 'memory MiB', digits: 0 },
  ],
  targets: [
    { ...ofMost, what: `Import, ${most}, against ${least}`, metric: 'importRate', unit: '/s' },
    { ...ofMost, what: '… start', metric: 'startSeconds', unit: 's' },
    { ...ofMost, what: '… look-up', metric: 'lookupUs', unit: 'µs' },
  ],
  measure,
};
