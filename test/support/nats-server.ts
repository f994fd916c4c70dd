/**
 * Runs nats-server for tests: one, or a cluster of three, on free loopback ports, with a store that survives a kill. Waits for
 * log lines, never for a time. Every process is ended by its id with the test.
 */
import { spawn, spawnSync, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { completesWithin } from '../../src/lib/clock.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { findFreePort } from './free-port.ts';
import type { Ending } from './temporary-store.ts';

const host = '127.0.0.1';
const clock = new SystemClock();

const leader =
  /JetStream cluster (?:new|no) metadata leader: \S+\/test|Self is new JetStream cluster metadata leader/;
/** An election takes a second, 9 after a failed one. */
const leaderMsMax = 15_000;

export interface NatsServerOptions {
  readonly extra?: string;
  /** URL scheme. Default: `nats`. */
  readonly scheme?: 'nats' | 'tls';
}

export async function startNats(t: Ending, options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = await NatsServer.make(t, 'nats-0', options.extra ?? '', options.scheme);
  await server.start();
  return server;
}

/** Starts a cluster of three; resolves when JetStream can keep three replicas. */
export async function startNatsCluster(t: Ending, options: NatsServerOptions = {}): Promise<NatsServer[]> {
  const ports = await Promise.all([0, 1, 2].map(() => findFreePort(host)));
  const routes = ports.map((port) => `nats://${host}:${port}`).join(', ');
  const servers = await Promise.all(
    ports.map((port, index) => {
      const cluster = `cluster { name: test, listen: "${host}:${port}", routes: [${routes}] }`;
      return NatsServer.make(t, `nats-${index}`, `${cluster}\n${options.extra ?? ''}`, options.scheme);
    }),
  );
  await Promise.all(servers.map((server) => server.start()));
  await Promise.all(servers.map((server) => knowsLeader(server)));
  return servers;
}

/**
 * Waits until the server knows the JetStream leader. A server whose routes were closed as duplicates during the election may
 * never know it (nats-server 2.9.10): it is restarted.
 */
async function knowsLeader(server: NatsServer): Promise<void> {
  while (!(await completesWithin(clock, leaderMsMax, server.logged(leader)))) await server.restart();
}

export class NatsServer {
  readonly port: number;
  readonly url: string;
  readonly #directory: string;
  #child: ChildProcessByStdio<null, null, Readable> | null = null;
  readonly #news = new EventEmitter();
  #output = '';

  static async make(
    t: Ending,
    name: string,
    extra: string,
    scheme: 'nats' | 'tls' = 'nats',
  ): Promise<NatsServer> {
    if (spawnSync('nats-server', ['--version']).status !== 0)
      throw new Error(
        'no nats-server on this machine: apt-get install nats-server, then npm run test:with -- cluster',
      );
    const server = new NatsServer(
      mkdtempSync(join(tmpdir(), 'reveille-nats-')),
      await findFreePort(host),
      name,
      extra,
      scheme,
    );
    t.after(() => server.#remove());
    return server;
  }

  private constructor(directory: string, port: number, name: string, extra: string, scheme: string) {
    this.#directory = directory;
    this.port = port;
    this.url = `${scheme}://${host}:${port}`;
    const lines = [
      `server_name: ${name}`,
      `listen: "${host}:${port}"`,
      `jetstream { store_dir: "${join(directory, 'store')}", max_mem: 64MB, max_file: 1GB }`,
    ];
    writeFileSync(this.#configuration, `${lines.join('\n')}\n${extra}\n`);
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('this nats-server does not run');
    return pid;
  }

  /** Starts on the same port and store as before. Resolves when it accepts connections. */
  async start(): Promise<void> {
    this.#output = '';
    const child = spawn('nats-server', ['-c', this.#configuration], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      this.#output += piece;
      this.#news.emit('news');
    });
    child.on('close', () => this.#news.emit('news'));
    await this.logged(/Server is ready/);
    await connects(this.port);
  }

  /** Resolves when its log since its last start has a line that matches. Rejects when it exits before. */
  async logged(line: RegExp): Promise<void> {
    while (!line.test(this.#output)) {
      if (!this.#isRunning) throw new Error(`nats-server has ended: ${this.#output}`);
      await once(this.#news, 'news');
    }
  }

  /** `kill -9`. Resolves when it has exited. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || hasEnded(child)) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  }

  /** A running server would write into the folder while it is removed. */
  async #remove(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Stops the process with its connections open. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  get #isRunning(): boolean {
    return this.#child !== null && !hasEnded(this.#child);
  }

  get #configuration(): string {
    return join(this.#directory, 'nats-server.conf');
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function connects(port: number): Promise<void> {
  for (;;) {
    const socket = createConnection({ host, port });
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
  }
}
