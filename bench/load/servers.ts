/** Starts the servers under test. All are used the same way: ports, a probe, an end. */
import { execFile } from 'node:child_process';
import { createInterface } from 'node:readline';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Child, outsideSettings, serverCore } from './child.ts';
import type { LocalLegService } from './ipc.ts';
import { stopFamily } from './family.ts';
import { peerService, type PeerProtocol } from './peer-protocol.ts';
import { registryText } from './population.ts';

export interface ServerUnderTest {
  readonly child: Child;
  /** Of HTTP; 0 where there is none. */
  readonly httpPort: number;
  /** Where devices connect; 0 where there is none. */
  readonly devicePort: number;
  /** Where controllers connect; of a peer the same as `devicePort`. */
  readonly signalPort: number;
  stop(): Promise<void>;
}

/** Ours has more to be reached by. */
export interface ReveilleServer extends ServerUnderTest {
  readonly mediaPort: number;
  readonly opsPort: number;
  readonly dataDirectory: string;
  /** Kills it and starts it anew, at the same addresses and with what it had stored. The former is of no use any more. */
  restart(): Promise<ReveilleServer>;
}

export interface PeerServer extends ServerUnderTest {
  readonly service: LocalLegService<PeerProtocol>;
}

export type PeerName = 'fastify' | 'bare-uws' | 'bare-ws-sockets' | 'bare-net' | 'bare-wakeup' | 'aedes';

export async function startPeer(name: PeerName): Promise<PeerServer> {
  const entry = new URL(`../peers/${name}-process.ts`, import.meta.url);
  const child = new Child({ entry, core: serverCore });
  const service = child.service<PeerProtocol>(peerService);
  child.process.stdout?.resume();
  const ports = await service.ask('listen', null);
  return { child, service, ...ports, signalPort: ports.devicePort, stop: () => child.stop() };
}

export type Verification = 'inline' | 'pool';

export interface ReveilleOptions {
  /** 0: nothing is imported. */
  readonly devices: number;
  /** Of them so many, the last ones, are another application's. */
  readonly neighbours?: number;
  /** Imported instead of so many devices. */
  readonly registryFile?: string;
  /** So many workers; alone when left out. */
  readonly processes?: number;
  /** Null: not pinned; the servers' core when left out. */
  readonly core?: number | null;
  readonly verification?: Verification;
  /** Gets every event. */
  readonly webhookUrl?: string;
  /** It answers the questions of event-source-protocol.ts too. */
  readonly writesEvents?: boolean;
  /** Settings of this figure, by variable. */
  readonly env?: Readonly<Record<string, string>>;
}

function parametersOf({ writesEvents, processes }: ReveilleOptions): string[] {
  if (writesEvents === true) return [];
  return ['serve', ...(processes === undefined ? [] : ['--processes', String(processes)])];
}

/** Most figures have no calls; then nobody carries media, and there is no port. */
function carriesMedia({ env }: ReveilleOptions): boolean {
  return env?.['REVEILLE_MEDIA_PROCESS'] === 'child';
}

/** Ours, with an own data directory and registry, and nobody who carries media; else every setting is at its default. */
export async function startReveille(options: ReveilleOptions): Promise<ReveilleServer> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-'));
  const registryFile = options.registryFile ?? join(directory, 'registry.json');
  if (options.registryFile === undefined)
    writeFileSync(registryFile, registryText(options.devices, options.webhookUrl, options.neighbours));
  const removeDirectory = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', removeDirectory);
  const dataDirectory = join(directory, 'state');
  mkdirSync(dataDirectory, { mode: 0o700 });
  const place = { REVEILLE_DATA_DIR: dataDirectory };
  if (options.devices > 0) await importRegistry(registryFile, place);
  return serve(options, {
    env: { ...freeListeners, REVEILLE_MEDIA_PROCESS: 'none', ...place },
    dataDirectory,
    remove: () => {
      process.off('exit', removeDirectory);
      removeDirectory();
    },
  });
}

interface ServedPlace {
  /** The settings that every figure has. */
  readonly env: Readonly<Record<string, string>>;
  readonly dataDirectory: string;
  /** When it is of no more use. */
  remove(): void;
}

async function serve(options: ReveilleOptions, place: ServedPlace): Promise<ReveilleServer> {
  const child = new Child({
    entry: options.writesEvents === true ? writingServer : commandLine,
    parameters: parametersOf(options),
    core: options.core === undefined ? serverCore : options.core,
    env: {
      ...place.env,
      ...(options.verification && { REVEILLE_AUTH_VERIFICATION: options.verification }),
      ...options.env,
    },
  });
  const listeners = await readListeners(child);
  return {
    child,
    httpPort: portOf(listeners['api']),
    devicePort: portOf(listeners['sleep']),
    signalPort: portOf(listeners['signal']),
    mediaPort: carriesMedia(options) ? portOf(listeners['media']) : 0,
    opsPort: portOf(listeners['ops']),
    dataDirectory: place.dataDirectory,
    restart: async () => {
      await stopFamily(child);
      const same = Object.entries(listeners).map(([name, address]) => [
        `REVEILLE_${name.toUpperCase()}_LISTEN`,
        address,
      ]);
      return serve(options, { ...place, env: { ...place.env, ...Object.fromEntries(same) } });
    },
    stop: async () => {
      await stopFamily(child);
      place.remove();
    },
  };
}

/**
 * Into the store at rest: a server that imports as it starts keeps memory free that its first sessions would take
 * without its growing, and would look smaller than it is.
 */
async function importRegistry(file: string, place: Readonly<Record<string, string>>): Promise<void> {
  const command = ['--import', 'tsx', fileURLToPath(commandLine), 'registry', 'import', file];
  await promisify(execFile)(process.execPath, command, { env: { ...outsideSettings(), ...place } });
}

const commandLine = new URL('../../src/main.ts', import.meta.url);
const writingServer = new URL('../peers/reveille-writing-process.ts', import.meta.url);
const freeListeners = Object.fromEntries(
  ['API', 'SLEEP', 'SIGNAL', 'MEDIA', 'OPS'].map((name) => [`REVEILLE_${name}_LISTEN`, '127.0.0.1:0']),
);

interface ReadyLine {
  readonly msg?: string;
  readonly listeners?: Readonly<Record<string, string>>;
}

/** Keeps reading after the line it waits for, so that the server never waits for a full pipe. */
function readListeners(child: Child): Promise<Readonly<Record<string, string>>> {
  return new Promise((resolve, reject) => {
    child.process.once('exit', (code) => reject(new Error(`the server ended (${code}) before it was ready`)));
    const { stdout } = child.process;
    if (stdout === null) return reject(new Error('the server has no output to read'));
    createInterface({ input: stdout }).on('line', (line) => {
      const { msg, listeners } = parseLine(line);
      if (msg === 'ready' && listeners !== undefined) resolve(listeners);
    });
  });
}

/** Lines that are no JSON are for people. */
function parseLine(line: string): ReadyLine {
  if (!line.startsWith('{')) return {};
  const parsed: ReadyLine = JSON.parse(line);
  return parsed;
}

function portOf(address: string | undefined): number {
  const port = Number(address?.split(':').at(-1));
  if (!(port > 0)) throw new Error(`the server did not say where it listens: ${address}`);
  return port;
}
