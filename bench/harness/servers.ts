/** Starts the servers under test, ours and peers: ports, a probe and an end. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childrenOf } from '../../test/support/process-samples.ts';
import { registryText } from '../load/population.ts';
import type { PeerProtocol } from '../peers/answer-as-peer.ts';
import { Child, outsideSettings, Player, serverCore } from './child.ts';

export interface ServerUnderTest {
  readonly child: Child;
  /** 0: it serves no HTTP. */
  readonly httpPort: number;
  /** 0: it has no devices. */
  readonly devicePort: number;
  /** Resolves when so many devices are connected, to that moment on the clock that all processes share. Null: a login says so. */
  readonly connected: ((devices: number) => Promise<number>) | null;
  stop(): Promise<void>;
}

export interface ReveilleServer extends ServerUnderTest {
  readonly signalPort: number;
  readonly mediaPort: number;
  readonly opsPort: number;
  readonly dataDirectory: string;
  /** Kills it and starts another one at the same addresses and with the same store, which takes its place. */
  restart(): Promise<ReveilleServer>;
}

export type PeerName = 'fastify' | 'bare-uws' | 'bare-ws-sockets' | 'bare-net' | 'bare-wakeup' | 'aedes';

export async function startPeer(name: PeerName): Promise<ServerUnderTest> {
  const entry = new URL(`../peers/${name}-process.ts`, import.meta.url);
  const { child, service } = new Player<PeerProtocol>(entry, { core: serverCore });
  const ports = await service.ask('listen', null);
  return {
    child,
    ...ports,
    connected: (devices) => service.ask('connected', devices),
    stop: () => child.stop(),
  };
}

export type Verification = 'inline' | 'pool';

export interface ReveilleOptions {
  readonly devices: number;
  readonly verification?: Verification;
  /** Gets every event. */
  readonly webhookUrl?: string;
  /** Left out: the command line. */
  readonly entry?: URL;
  /** True: the command line as `npm run build` made it, where a start is measured; it has no probe. */
  readonly isBuilt?: boolean;
  /** Null: not pinned. Left out: the servers' core. */
  readonly core?: number | null;
  /** Processes that hold the sleep connections; absent: 0. */
  readonly edges?: number;
  /** Threads that carry HTTP; absent: 0. */
  readonly fronts?: number;
  /** Settings of this benchmark, by variable. */
  readonly env?: Readonly<Record<string, string>>;
}

/** With a data directory and a registry of its own, and without media; else every setting is at its default. */
export async function startReveille(options: ReveilleOptions): Promise<ReveilleServer> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
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
  const { isBuilt = false, core = serverCore, edges = 0, fronts = 0 } = options;
  const { entry = isBuilt ? builtCommandLine : commandLine } = options;
  const parameters =
    options.entry === undefined ? ['serve', '--edges', String(edges), '--fronts', String(fronts)] : [];
  const child = new Child({ entry, parameters, isBare: isBuilt, core, env });
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
      process.off('exit', place.remove);
      place.remove();
    },
  };
}

/**
 * Into the store at rest: a server that imports as it starts keeps memory free, which its first sessions would take without
 * any growth.
 */
async function importRegistry(file: string, dataDirectory: string): Promise<void> {
  const command = ['--import', 'tsx', fileURLToPath(commandLine), 'registry', 'import', file];
  const env = { ...outsideSettings(), REVEILLE_DATA_DIR: dataDirectory };
  await promisify(execFile)(process.execPath, command, { env });
}

/** It ends by itself, but later than its directory is removed. */
function endChild(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

const commandLine = new URL('../../src/main.ts', import.meta.url);
const builtCommandLine = new URL('../../dist/main.js', import.meta.url);
const freeListeners = Object.fromEntries(
  ['API', 'SLEEP', 'SIGNAL', 'MEDIA', 'OPS'].map((name) => [`REVEILLE_${name}_LISTEN`, '127.0.0.1:0']),
);

interface ReadyLine {
  readonly msg?: string;
  readonly listeners?: Readonly<Record<string, string>>;
}

/** Keeps reading after the line it waits for, so that the server never waits for a full pipe. */
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

/** Lines that are no JSON are for people. */
function parseLine(line: string): ReadyLine {
  return line.startsWith('{') ? (JSON.parse(line) as ReadyLine) : {};
}

function portOf(address: string | undefined): number {
  const port = Number(address?.split(':').at(-1));
  if (!(port > 0)) throw new Error(`the server did not say where it listens: ${address}`);
  return port;
}
