/**
 * How long a registry file of many devices takes to import, as the server does it: on a worker thread, while the
 * main thread looks devices up. Run: node --import tsx bench/registry-import.ts [devices] [ndjson|document]
 */
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importInWorker } from '../src/storage/registry/import-in-worker.ts';
import { openStore } from '../src/storage/lmdb/open-store.ts';
import { RegistryStore } from '../src/storage/registry/registry-store.ts';
import { deviceIdAt, writeRegistryFile } from './support/registry-file.ts';

const devices = Number(process.argv[2] ?? 1_000_000);
const form = process.argv[3] === 'document' ? 'document' : 'ndjson';

const directory = mkdtempSync(join(tmpdir(), 'reveille-import-'));
const file = join(directory, form === 'ndjson' ? 'registry.ndjson' : 'registry.json');
const descriptor = openSync(file, 'w');
writeRegistryFile(devices, form, (text) => writeSync(descriptor, text));
closeSync(descriptor);

const store = openStore(join(directory, 'data'));
const registry = new RegistryStore(store.registry);
let worstGapMs = 0;
let lastMs = performance.now();
const lookups = setInterval(() => {
  const nowMs = performance.now();
  worstGapMs = Math.max(worstGapMs, nowMs - lastMs);
  lastMs = nowMs;
  for (let i = 0; i < 100; i++) registry.find('device', deviceIdAt(Math.floor(Math.random() * devices)));
}, 5);

const startMs = performance.now();
const result = await importInWorker(store.directory, { file, replace: false, skipUnchanged: true });
const seconds = (performance.now() - startMs) / 1000;
clearInterval(lookups);
registry.purge();

const megabytes = statSync(file).size / 1e6;
const residentMegabytes = process.memoryUsage().rss / 1e6;
console.log(result.ok ? `${devices} devices (${form}, ${megabytes.toFixed(0)} MB)` : result.error.message);
console.log(
  `imported in ${seconds.toFixed(1)} s; the main loop's longest gap was ${worstGapMs.toFixed(0)} ms`,
);
console.log(
  `resident ${residentMegabytes.toFixed(0)} MB; in the store: ${JSON.stringify(registry.counts())}`,
);
await store.close();
rmSync(directory, { recursive: true });
