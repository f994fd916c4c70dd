/** A start with a media process and an empty registry: from the command to `ready`. The floors are Node, and a bare listener. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { checkout } from '../../test/support/checkout.ts';
import { freeListens, settingArguments } from '../../test/support/server-process.ts';
import { atMost, interleave, ratioTo, type Benchmark, type Measurement } from '../harness/benchmark.ts';
import { outsideSettings } from '../harness/child.ts';

interface Contender {
  readonly row: string;
  /** Arguments of Node. */
  readonly args: readonly string[];
  /** In the line that ends the start. */
  readonly awaited: string;
}

const builtCommandLine = fileURLToPath(moduleBeside('../../src/main', import.meta.url));
const fileIn = (path: string): string => fileURLToPath(new URL(path, checkout));

/** Loads the binary as the server does, and nothing else. */
const listener = `const { createRequire } = require('node:module');
const { platform, arch, versions } = process;
const binary = 'bin/uws_' + platform + '_' + arch + '_' + versions.modules + '.node';
const { App } = createRequire(${JSON.stringify(fileIn('node_modules/uWebSockets.js/dist/'))})('./' + binary);
App().listen('127.0.0.1', 0, () => console.log('ready'));`;

const built = 'built';
const node = 'node -e 0';
const bare = 'bare uWebSockets.js';
/** The first start of a build stores compiled code 5 s after its beginning. */
const firstStartMs = 7000;

function contendersOf(directory: string): Contender[] {
  const serve = ['serve', ...settingArguments([...freeListens, `data.dir=${directory}`])];
  const sources = ['--import', fileIn('src/typescript.mjs'), fileIn('src/main.ts'), ...serve];
  return [
    { row: built, args: [builtCommandLine, ...serve], awaited: '"msg":"ready"' },
    { row: 'from the sources', args: sources, awaited: '"msg":"ready"' },
    { row: bare, args: ['-e', listener], awaited: 'ready' },
    { row: node, args: ['-e', 'console.log(0)'], awaited: '0' },
  ];
}

async function measure({ scale, runs, samples }: Measurement): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-starts-'));
  try {
    const contenders = contendersOf(directory);
    // The first start of each finds no files in memory.
    for (const contender of contenders)
      await start(contender, contender.row === built && scale === 'full' ? firstStartMs : 0);
    await interleave(contenders, runs, async (contender) =>
      samples.add(contender.row, { startMs: await start(contender) }),
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Resolves to the milliseconds of the start, after the end of the process. */
async function start({ args, awaited }: Contender, runMs = 0): Promise<number> {
  const begunMs = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: outsideSettings(),
  });
  const ended = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout }))
    if (line.includes(awaited)) {
      const startMs = performance.now() - begunMs;
      child.stdout.resume();
      await new Promise((resolve) => setTimeout(resolve, runMs));
      child.kill('SIGTERM');
      await ended;
      return startMs;
    }
  throw new Error(`no start: ${args.join(' ')}`);
}

const ofNode = { compared: ratioTo(node), bound: null };

export const starts: Benchmark = {
  title: 'Starts',
  runs: 5,
  notes: [
    'From the command to the line `ready`, with a media process, on all cores; the floors end at their first output.',
    'A start before these ones has stored the code that V8 compiled.',
  ],
  columns: [{ metric: 'startMs', title: 'start ms', digits: 0 }],
  targets: [
    {
      what: 'Start of a build',
      row: built,
      metric: 'startMs',
      unit: 'ms',
      compared: { kind: 'alone' },
      bound: atMost(500),
    },
    { what: '… and of Node alone', row: built, metric: 'startMs', unit: 'ms', ...ofNode },
    { what: 'Start from the sources', row: 'from the sources', metric: 'startMs', unit: 'ms', ...ofNode },
  ],
  measure,
};
