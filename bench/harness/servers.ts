/** Starts the servers under test, ours and peers, with ports, probe and stop function. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { importInWorker } from '../../src/storage/registry/registry-thread.ts';
import { childrenOf } from '../../test/support/process-samples.ts';
import { registryText } from '../load/population.ts';
import type { PeerProtocol } from '../peers/answer-as-peer.ts';
import { Child, Player, serverCore } from './child.ts';

export interface ServerUnderTest {
  readonly child: Child;
  readonly httpPort: number;
  readonly devicePort: number;
  /** Resolves when this many devices are connected, with the time on the shared clock. Null: the login confirms it. */
  readonly connected: ((devices: number) => Promise<number>) | null;
  stop(): Promise<void>;
}

export interface ReveilleServer extends ServerUnderTest {
  readonly signalPort: number;
  readonly mediaPort: number;
  readonly opsPort: number;
  readonly dataDirectory: string;
  /** Kills the server and starts another one with the same addresses and store. */
  restart(): Promise<ReveilleServer>;
}

/** Limits of wakeups that no benchmark reaches, as variables of the environment. */
export const raisedWakeupLimits = {
  REVEILLE_WAKEUP_DEVICE_PER_SECOND: '1000',
  REVEILLE_WAKEUP_APPLICATION_PER_SECOND: '100000',
};

export type PeerName =
  'fastify' | 'bare-uws' | 'ws-sessions' | 'bare-net' | 'bare-exchange' | 'bare-wakeup' | 'plain' | 'aedes';

/** A note of benchmarks with this peer. */
export const plainServer =
  'Plain: a server with the same duties as its libraries’ documentation suggests it (uWebSockets.js, node:net, node:crypto, lmdb, ' +
  'jose): it checks each signature and login, and stores what we store, without limits, repeats, outcomes and permissions.';

/** `core`: null: not pinned. */
export async function startPeer(name: PeerName, core: number | null = serverCore): Promise<ServerUnderTest> {
  const entry = moduleBeside(`../peers/${name}-process`, import.meta.url);
  const { directory, remove } = temporaryDirectory();
  const { child, service } = new Player<PeerProtocol>(entry, { core, parameters: [directory] });
  const ports = await service.ask('listen', null);
  return {
    child,
    ...ports,
    connected: (devices) => service.ask('connected', devices),
    stop: async () => {
      await child.stop();
      remove();
    },
  };
}

export type Verification = 'inline' | 'pool';

export interface ReveilleOptions {
  readonly devices: number;
  readonly verification?: Verification;
  readonly webhookUrl?: string;
  /** Default: the command line. */
  readonly entry?: URL;
  /** True: without the probe, which the server's children would inherit. */
  readonly isBare?: boolean;
  /** Null: not pinned. Default: the servers' core. */
  readonly core?: number | null;
  readonly edges?: number;
  readonly fronts?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a server with its own data directory and registry, and without media; other settings have their defaults. */
export async function startReveille(options: ReveilleOptions): Promise<ReveilleServer> {
  const { directory, remove } = temporaryDirectory();
  const dataDirectory = join(directory, 'state');
  mkdirSync(dataDirectory, { mode: 0o700 });
  if (options.devices > 0) {
    const file = join(directory, 'registry.json');
    writeFileSync(file, registryText(options.devices, options.webhookUrl));
    await importRegistry(file, dataDirectory);
  }
  const env = { ...freeListeners, REVEILLE_MEDIA_PROCESS: 'none', REVEILLE_DATA_DIR: dataDirectory };
  return serve(options, { env, dataDirectory, remove });
}

/** Removed by `remove`, at the latest when this process exits. */
export function temporaryDirectory(): { readonly directory: string; readonly remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-'));
  const remove = (): void => {
    process.off('exit', remove);
    rmSync(directory, { recursive: true, force: true });
  };
  process.once('exit', remove);
  return { directory, remove };
}

interface ServedPlace {
  readonly env: Readonly<Record<string, string>>;
  readonly dataDirectory: string;
  readonly remove: () => void;
}

async function serve(options: ReveilleOptions, place: ServedPlace): Promise<ReveilleServer> {
  const env: Readonly<Record<string, string>> = {
    ...place.env,
    ...(options.verification && { REVEILLE_AUTH_VERIFICATION: options.verification }),
    ...options.env,
  };
  const { isBare = false, core = serverCore, edges = 0, fronts = 0 } = options;
  const { entry = commandLine } = options;
  const parameters =
    options.entry === undefined ? ['serve', '--edges', String(edges), '--fronts', String(fronts)] : [];
  const child = new Child({ entry, parameters, isBare, core, env });
  const listeners = await readListeners(child);
  return {
    child,
    httpPort: portOf(listeners['api']),
    devicePort: portOf(listeners['sleep']),
    signalPort: portOf(listeners['signal']),
    mediaPort: env['REVEILLE_MEDIA_PROCESS'] === 'none' ? 0 : portOf(listeners['media']),
    opsPort: portOf(listeners['ops']),
    dataDirectory: place.dataDirectory,
    connected: null,
    restart: async () => {
      await child.stop();
      const same = Object.entries(listeners).map(([name, address]) => [
        `REVEILLE_${name.toUpperCase()}_LISTEN`,
        address,
      ]);
      return serve(options, { ...place, env: { ...place.env, ...Object.fromEntries(same) } });
    },
    stop: async () => {
      const others = childrenOf(child.process.pid ?? 0);
      await child.stop();
      for (const pid of others) endChild(pid);
      place.remove();
    },
  };
}

/**
 * Imports into the store of a stopped server: an import during the start leaves free memory, which the first sessions would use
 * without measurable growth.
 */
async function importRegistry(file: string, dataDirectory: string): Promise<void> {
  const store = openStore(dataDirectory);
  const result = await importInWorker(store.directory, { file, replace: false, skipUnchanged: true });
  await store.close();
  if (!result.ok) throw new Error(result.error.message);
}

/** Kills a child that would otherwise outlive its directory. */
function endChild(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Already ended.
  }
}

const commandLine = moduleBeside('../../src/main', import.meta.url);
const freeListeners = Object.fromEntries(
  ['API', 'SLEEP', 'SIGNAL', 'MEDIA', 'OPS'].map((name) => [`REVEILLE_${name}_LISTEN`, '127.0.0.1:0']),
);

interface ReadyLine {
  readonly msg?: string;
  readonly listeners?: Readonly<Record<string, string>>;
}

/** Continues to read after the awaited line, so that a full pipe never blocks the server. */
function readListeners({ process: { stdout }, process: child }: Child): Promise<Record<string, string>> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended (${code}) before it was ready`)));
    if (stdout === null) return reject(new Error('the server has no output to read'));
    createInterface({ input: stdout }).on('line', (line) => {
      const { msg, listeners } = parseLine(line);
      if (msg === 'ready' && listeners !== undefined) resolve(listeners);
    });
  });
}

function parseLine(line: string): ReadyLine {
  return line.startsWith('{') ? (JSON.parse(line) as ReadyLine) : {};
}

function portOf(address: string | undefined): number {
  const port = Number(address?.split(':').at(-1));
  if (!(port > 0)) throw new Error(`the server did not say where it listens: ${address}`);
  return port;
}
