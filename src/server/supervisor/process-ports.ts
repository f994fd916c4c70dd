/**
 * The ports that several processes share: settled, with the directory of the sockets by which they reach each other, before
 * any of them is started; and the sleep port, whose connections the supervisor hands out. The system would let another server
 * share a port too, without a word, so a port in use is found here. Port 0 becomes a free one, the same for every process and
 * for its successors. Source: cluster.md, Several processes on one machine; sleep-wire.md, Storms.
 */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProcessFork, ProcessReport } from './process-messages.ts';
import {
  hasOwnListener,
  listenerNames,
  type ListenerName,
  type Settings,
} from '../config/settings-schema.ts';
import { formatListenAddress, type ListenAddress } from '../../model/settings-values.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { descriptorsReserved, handoffsMax, sleepAcceptBacklog } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';

type Addresses = Readonly<Record<ListenerName, ListenAddress>>;

/**
 * Until a process listens, a second or two later, nobody holds the port: those from which the kernel gives ports to
 * connections (32768 up on Linux) would be gone by then now and then.
 */
const freePortMin = 20_000;
const freePortMax = 32_767;
const freePortTriesMax = 20;

/** Rejects with a sentence that names the first address that cannot be had. */
export async function settlePorts(settings: Settings): Promise<Addresses> {
  const held: Server[] = [];
  try {
    const settled: [ListenerName, ListenAddress][] = [];
    for (const name of listenerNames) settled.push([name, await settle(settings, name, held)]);
    return Object.fromEntries(settled) as unknown as Addresses;
  } finally {
    // All at once: no two of them may be given the same.
    await Promise.all(held.map(closed));
  }
}

async function settle(settings: Settings, name: ListenerName, held: Server[]): Promise<ListenAddress> {
  const { listen } = settings[name];
  if (!hasOwnListener(settings, name)) return listen;
  try {
    const server = listen.port === 0 ? await listeningSomewhere(listen.host) : await listening(listen);
    held.push(server);
    return { host: listen.host, port: (server.address() as AddressInfo).port };
  } catch (error) {
    const address = formatListenAddress(listen);
    throw new Error(
      `cannot listen on ${address} (${name}.listen): in use, or not an address of this machine`,
      {
        cause: error,
      },
    );
  }
}

/** On a port that nobody has. Rejects when `host` is not an address of this machine. */
async function listeningSomewhere(host: string): Promise<Server> {
  for (let tries = 1; tries < freePortTriesMax; tries++) {
    const server = await listening({ host, port: randomInt(freePortMin, freePortMax + 1) }).catch(() => null);
    if (server !== null) return server;
  }
  return listening({ host, port: 0 });
}

function listening({ host, port }: ListenAddress): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => resolve(server));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** The system takes 104 to 108 bytes for a path; a socket's own name has its part of them. */
const directoryBytesMax = 60;

/**
 * Makes the directory of the sockets: under the system's own for temporary files, since a socket's path is short, and the
 * data directory's may not be. Nobody but the owner can enter it. Throws, with a sentence, where its path would be too long.
 */
export function makeSocketDirectory(): string {
  const parent = [tmpdir(), '/tmp'].find((path) => Buffer.byteLength(path) + 16 <= directoryBytesMax);
  if (parent === undefined)
    throw new Error(
      `the directory for sockets would have too long a path under ${tmpdir()}: set TMPDIR to a shorter one`,
    );
  return mkdtempSync(join(parent, 'reveille-'));
}

export function removeSocketDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

/**
 * The supervisor accepts, reads nothing, and hands each connection to the worker that has the fewest. A connection that finds
 * all of them full, or none, is reset: a module comes back, and one that waits here would be known to nobody.
 */
export class SupervisorSleepPort {
  readonly #log: Log;
  readonly #workers: () => readonly ConnectionHandoff[];
  readonly #server: Server;
  #turn = 0;
  /** Since the last report. */
  #refused = 0;

  /** `workers`: those that take connections now. */
  constructor(log: Log, workers: () => readonly ConnectionHandoff[]) {
    this.#log = log;
    this.#workers = workers;
    this.#server = createServer({ pauseOnConnect: true, noDelay: true, keepAlive: false }, (socket) => {
      socket.on('error', ignore);
      this.give(socket);
    });
    this.#server.maxConnections = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
    this.#server.on('drop', () => (this.#refused += 1));
  }

  /** Resolves when connections are accepted. Rejects with a sentence. */
  listen({ host, port }: ListenAddress): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: sleepAcceptBacklog }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.#log.error({ err: error }, 'the sleep port failed'));
        resolve();
      });
    });
  }

  /** To the worker that has the fewest; ties take turns. */
  give(socket: Socket): void {
    const workers = this.#workers();
    this.#turn += 1;
    let fewest: ConnectionHandoff | undefined;
    for (let i = 0; i < workers.length; i += 1) {
      const worker = workers[(this.#turn + i) % workers.length];
      if (worker === undefined || worker.isFull) continue;
      if (fewest === undefined || worker.load < fewest.load) fewest = worker;
    }
    if (fewest !== undefined) return fewest.give(socket);
    this.#refused += 1;
    socket.resetAndDestroy();
  }

  /** Logs how many were refused since the last time. */
  report(): void {
    if (this.#refused === 0) return;
    this.#log.warn({ connections: this.#refused }, 'sleep connections are reset: no worker takes them');
    this.#refused = 0;
  }

  /** Accepts no more. What was handed over stays. */
  close(): void {
    if (this.#server.listening) this.#server.close();
  }
}

function ignore(): void {
  // A peer that is gone: whoever is handed its connection finds that out.
}

type Heartbeat = Pick<Extract<ProcessReport, { kind: 'heartbeat' }>, 'sleepConnections' | 'sleepTaken'>;

/**
 * The connections that one worker is given. Node's channel to it takes one at a time and waits until the process has it:
 * those behind wait here, and go to other workers if the process dies first.
 */
export class ConnectionHandoff {
  readonly #fork: Pick<ProcessFork, 'hand'>;
  /** The first is on its way. */
  readonly #waiting: Socket[] = [];
  #given = 0;
  #reported: Heartbeat = { sleepConnections: 0, sleepTaken: 0 };

  constructor(fork: Pick<ProcessFork, 'hand'>) {
    this.#fork = fork;
  }

  /** The connections it last reported, and those given since. */
  get load(): number {
    return this.#reported.sleepConnections + this.#given - this.#reported.sleepTaken;
  }

  get isFull(): boolean {
    return this.#waiting.length >= handoffsMax;
  }

  give(socket: Socket): void {
    this.#given += 1;
    this.#waiting.push(socket);
    if (this.#waiting.length === 1) this.#hand(socket);
  }

  reported(heartbeat: Heartbeat): void {
    this.#reported = heartbeat;
  }

  /** The connections that it has not got, once it takes no more. */
  takeBack(): Socket[] {
    return this.#waiting.splice(0);
  }

  #hand(socket: Socket): void {
    this.#fork.hand(socket, () => {
      if (this.#waiting[0] !== socket) return;
      this.#waiting.shift();
      const [next] = this.#waiting;
      if (next !== undefined) this.#hand(next);
    });
  }
}
