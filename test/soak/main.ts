/** Runs a soak: `npm run soak -- --help`. The soak and its server are compiled first. */
import { runCompiled } from '../support/compiled-tree.ts';
import { lastFirst, type Ending } from '../support/temporary-store.ts';

interface Soak {
  readonly options: string;
  readonly guards: string;
  readonly load: () => Promise<{ run: SoakRun }>;
}

/** Resolves with a sentence per failure. */
type SoakRun = (args: readonly string[], t: Ending) => Promise<readonly string[]>;

const soaks: Readonly<Record<string, Soak>> = {
  server: {
    options: '[--minutes 60] [--upgrade-every 10] [--shared] [--leak memory,descriptor,timer]',
    guards: 'memory, descriptors and timers of a server stay flat, under its whole load and over upgrades',
    load: () => import('./server.ts'),
  },
  upgrade: {
    options:
      '[--edges 2] [--fronts 0] [--sessions 5000] [--tls 500] [--wakeups 500] [--queries 200] [--calls 10] [--seconds 15] [--upgrades 3]',
    guards: 'an upgrade under load does not affect sleeping devices and backends',
    load: () => import('./upgrade.ts'),
  },
  core: {
    options:
      '[--kills 50] [--edges 2] [--fronts 0] [--sessions 5000] [--tls 500] [--controllers 200] [--wakeups 500] [--queries 200] [--seconds 6] [--seed 1]',
    guards: 'killing the core under load does not affect sleeping devices, and loses nothing acknowledged',
    load: () => import('./core.ts'),
  },
  media: {
    options: '[--seconds 600] [--calls 20] [--seed 1]',
    guards: 'no resource outlives its call in the media process, while a fuzzer runs the codec',
    load: () => import('./media.ts'),
  },
  hostile: {
    options: '[--seconds 600] [--devices 10000] [--edges 0] [--fronts 0]',
    guards: 'devices, backends, newcomers and a call are served during all attacks at once',
    load: () => import('./hostile.ts'),
  },
};

/** Shares the frame counters of the server's worker, so both must be in one bundle. */
const leakingWorker = 'test/soak/media/leaking-worker.ts';

const usage = `npm run soak -- NAME [options]

Exits 1 with everything that is wrong.

${Object.entries(soaks)
  .map(([name, { options, guards }]) => `  ${name} ${options}\n      ${guards}`)
  .join('\n')}`;

/** Rejects on SIGINT or SIGTERM, so that the processes are ended. Ctrl-C arrives twice, from the terminal and from the parent. */
function interruption(): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
}

async function runSoak(soak: Soak, args: readonly string[]): Promise<void> {
  const endings: (() => void | Promise<void>)[] = [];
  try {
    const { run } = await soak.load();
    const complaints = await Promise.race([
      run(args, lastFirst({ after: (end) => void endings.push(end) })),
      interruption(),
    ]);
    for (const complaint of complaints) console.error(`wrong: ${complaint}`);
    if (complaints.length > 0) process.exitCode = 1;
    else console.log(`passed: ${soak.guards}`);
  } finally {
    for (const end of endings) await end();
  }
}

const [name = '--help', ...args] = process.argv.slice(2);
const soak = soaks[name];
if (soak === undefined) {
  console.log(name === '--help' ? usage : `no soak is called ${name}\n\n${usage}`);
  if (name !== '--help') process.exitCode = 1;
} else if (import.meta.url.endsWith('.ts'))
  process.exitCode = await runCompiled({
    program: 'test/soak/main.ts',
    args: [name, ...args],
    bundled: [leakingWorker],
  });
else await runSoak(soak, args);
