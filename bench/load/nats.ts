/** nats-server for the figures of several nodes: one, with a store of its own, on the servers' core unless it is said. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../test/support/free-port.ts';
import { pinning, serverCore } from './child.ts';

const program = 'nats-server';
const host = '127.0.0.1';
const startMsMax = 10_000;
const sharedMsMax = 30_000;
const pollMs = 50;

/** For a figure that cannot be had without it. */
export const natsIsMissing = 'nats-server is not on this machine: apt-get install nats-server';

export function hasNats(): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

export interface StreamReading {
  readonly messages: number;
  readonly bytes: number;
}

interface JetStreamReport {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly { readonly name: string; readonly state: StreamReading }[];
  }[];
}

export class NatsUnderTest {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #monitorPort: number;
  readonly #remove: () => void;

  private constructor(child: ChildProcess, port: number, monitorPort: number, remove: () => void) {
    this.#child = child;
    this.url = `nats://${host}:${port}`;
    this.#monitorPort = monitorPort;
    this.#remove = remove;
  }

  /** Resolves when it answers. `core` null: not pinned. */
  static async start(core: number | null = serverCore): Promise<NatsUnderTest> {
    if (!hasNats()) throw new Error(natsIsMissing);
    const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-nats-'));
    const [port, monitorPort] = [await findFreePort(host), await findFreePort(host)];
    const file = join(directory, 'nats.conf');
    writeFileSync(
      file,
      `listen: "${host}:${port}"\nhttp: "${host}:${monitorPort}"\n` +
        `jetstream { store_dir: "${join(directory, 'store')}", max_mem: 256MB, max_file: 8GB }\n`,
    );
    const isPinned = pinning && core !== null;
    const child = isPinned
      ? spawn('taskset', ['-c', String(core), program, '-c', file], { stdio: 'ignore' })
      : spawn(program, ['-c', file], { stdio: 'ignore' });
    const remove = (): void => {
      child.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    };
    process.once('exit', remove);
    const server = new NatsUnderTest(child, port, monitorPort, remove);
    await server.#ready();
    return server;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The settings, by variable, of a node of this name. */
  nodeEnv(name: string): Record<string, string> {
    return { REVEILLE_CLUSTER_NATS_URL: this.url, REVEILLE_CLUSTER_NODE_NAME: name };
  }

  /** Resolves when it has a registry of so many entries. */
  keepsRegistry(entries: number, waitMs = sharedMsMax): Promise<StreamReading> {
    return this.keeps('KV_reveille_registry', entries, waitMs);
  }

  /** What a stream keeps now; nothing when there is none of the name. */
  async stream(name: string): Promise<StreamReading> {
    const report = (await this.#monitor('/jsz?accounts=true&streams=true')) as JetStreamReport;
    const streams = (report.account_details ?? []).flatMap((account) => account.stream_detail ?? []);
    return streams.find((stream) => stream.name === name)?.state ?? { messages: 0, bytes: 0 };
  }

  /** Resolves when the stream keeps so many messages. Rejects after `waitMs`. */
  async keeps(name: string, messages: number, waitMs: number): Promise<StreamReading> {
    const deadlineMs = performance.now() + waitMs;
    for (;;) {
      const reading = await this.stream(name);
      if (reading.messages >= messages) return reading;
      if (performance.now() > deadlineMs)
        throw new Error(`${name} keeps ${reading.messages} of ${messages} messages after ${waitMs} ms`);
      await sleep(pollMs);
    }
  }

  async stop(): Promise<void> {
    const isGone = this.#child.exitCode !== null || this.#child.signalCode !== null;
    const gone = isGone ? null : once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
    process.off('exit', this.#remove);
    this.#remove();
  }

  async #ready(): Promise<void> {
    const deadlineMs = performance.now() + startMsMax;
    while (performance.now() < deadlineMs) {
      if (
        await this.#monitor('/healthz').then(
          () => true,
          () => false,
        )
      )
        return;
      await sleep(pollMs);
    }
    throw new Error('nats-server did not start');
  }

  async #monitor(path: string): Promise<unknown> {
    const response = await fetch(`http://${host}:${this.#monitorPort}${path}`);
    if (!response.ok) throw new Error(`nats-server answers ${response.status}`);
    return response.json();
  }
}
