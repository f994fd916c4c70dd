/**
 * Several nodes as real processes on one NATS, each with a data directory of its own and, where a test wants to cut it
 * off, a way to NATS of its own; and the devices and backends that talk to them.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { ApiClient, type ApiAnswer } from './api-client.ts';
import { runCli } from './cli-process.ts';
import { NatsRelay } from './nats-relay.ts';
import type { NatsServer } from './nats-server.ts';
import { startServerProcess, type ServerProcess } from './server-process.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

export const siteAppId = '2818153';
const credential = { appId: siteAppId, accessKeyId: 'AKCLUSTER', secretKey: 'secret-of-the-cluster' };
const clock = new SystemClock();

export function siteDevice(number: number): string {
  return `SITEDEVICE${String(number).padStart(5, '0')}`;
}

function secretOf(deviceId: string): string {
  return `secret of ${deviceId}`;
}

export interface SiteOptions {
  readonly nats: readonly NatsServer[];
  readonly nodes: readonly string[];
  readonly devices?: number;
  /** Each node has its own way to NATS, which can be cut. Only with one server. */
  readonly relayed?: boolean;
  readonly webhooks?: readonly object[];
  readonly overrides?: readonly string[];
}

export class SiteNode {
  readonly name: string;
  /** Of its data. */
  readonly directory: string;
  readonly relay: NatsRelay | null;
  readonly #t: Ending;
  readonly #overrides: readonly string[];
  #server: ServerProcess | null = null;
  #api: ApiClient | null = null;

  constructor(
    t: Ending,
    name: string,
    directory: string,
    overrides: readonly string[],
    relay: NatsRelay | null,
  ) {
    this.#t = t;
    this.name = name;
    this.directory = directory;
    this.#overrides = overrides;
    this.relay = relay;
    t.after(() => this.#api?.close());
  }

  async start(): Promise<void> {
    this.#server = await startServerProcess(this.#t, this.#overrides);
    this.#api?.close();
    this.#api = new ApiClient(this.#server.ports.api, credential);
  }

  get server(): ServerProcess {
    assert.ok(this.#server !== null, 'a node has a process once it is started');
    return this.#server;
  }

  get api(): ApiClient {
    assert.ok(this.#api !== null, 'a node has an API once it is started');
    return this.#api;
  }

  /** What `reveille` says of it, or to it; fails unless the exit code is 0. */
  async cli(...command: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await runCli([...command, '--data-dir', this.directory]);
    assert.equal(exitCode, 0, `${command.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** As `/readyz` tells it. */
  async readiness(): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.server.ports.ops}/readyz`);
    return { status: response.status, text: await response.text() };
  }

  /** Resolves when it is gone. */
  async kill(): Promise<void> {
    await this.server.command.stop('SIGKILL');
  }

  /** In order. */
  async stop(): Promise<number | null> {
    return this.server.command.stop('SIGTERM');
  }

  pause(): void {
    process.kill(this.#pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.#pid, 'SIGCONT');
  }

  module(deviceId: string): Promise<SleepingModule> {
    return SleepingModule.connect(this.server.ports.sleep, {
      deviceId,
      secret: secretOf(deviceId),
      wakeMode: 'custom',
    });
  }

  controller(deviceId: string): Promise<SignalController> {
    const url = `ws://127.0.0.1:${this.server.ports.signal}`;
    return SignalController.connect({
      url,
      deviceId,
      secret: secretOf(deviceId),
      autoAcknowledge: true,
      clock,
    });
  }

  get #pid(): number {
    const { pid } = this.server.command;
    assert.ok(pid !== undefined, 'a node that was started has a process');
    return pid;
  }
}

export class ClusterSite {
  readonly nodes: SiteNode[] = [];
  readonly #t: Ending;
  readonly #directory: string;
  readonly #options: SiteOptions;

  private constructor(t: Ending, directory: string, options: SiteOptions) {
    this.#t = t;
    this.#directory = directory;
    this.#options = options;
  }

  /** What the nodes start with. */
  get registryFile(): string {
    return join(this.#directory, 'registry.json');
  }

  static async start(t: Ending, options: SiteOptions): Promise<ClusterSite> {
    const directory = temporaryDirectory(t);
    const site = new ClusterSite(t, directory, options);
    await writeFile(site.registryFile, JSON.stringify(registryOf(options)));
    // The first brings the registry in; the others mirror it.
    for (const name of options.nodes) await site.add(name);
    return site;
  }

  /** One more node, started. */
  async add(name: string, more: readonly string[] = []): Promise<SiteNode> {
    const { nats, relayed = false, overrides = [] } = this.#options;
    const relay = relayed ? await NatsRelay.open(this.#t, firstOf(nats).port) : null;
    const directory = join(this.#directory, name);
    const settings = [
      `cluster.nats_url=${relay?.url ?? nats.map((server) => server.url).join(',')}`,
      `cluster.node_name=${name}`,
      `cluster.replicas=${nats.length}`,
      `data.dir=${directory}`,
      `registry.file=${this.registryFile}`,
      'auth.verification=inline',
      'wakeup.device_per_second=1000',
      'wakeup.application_per_second=100000',
      ...overrides,
      ...more,
    ];
    const node = new SiteNode(this.#t, name, directory, settings, relay);
    this.nodes.push(node);
    await node.start();
    return node;
  }

  node(index: number): SiteNode {
    const node = this.nodes[index];
    assert.ok(node !== undefined, `the site has no node ${index}`);
    return node;
  }
}

/** Asks until the answer is wanted; fails after `waitMs`, with the last answer. Resolves to the milliseconds it took. */
export async function until(
  ask: () => Promise<ApiAnswer>,
  isWanted: (answer: ApiAnswer) => boolean,
  waitMs: number,
): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const answer = await ask();
    const tookMs = performance.now() - startedMs;
    if (isWanted(answer)) return tookMs;
    assert.ok(tookMs < waitMs, `not within ${waitMs} ms: ${answer.text}`);
    await wait(25);
  }
}

function firstOf(servers: readonly NatsServer[]): NatsServer {
  const [first] = servers;
  assert.ok(first !== undefined, 'a site has a NATS server');
  return first;
}

function registryOf({ devices = 100, webhooks = [] }: SiteOptions): object {
  return {
    applications: [{ app_id: siteAppId, name: 'cluster' }],
    products: [{ product_id: 'doorbell', app_ids: [siteAppId] }],
    credentials: [
      {
        access_key_id: credential.accessKeyId,
        secret_key: credential.secretKey,
        app_id: siteAppId,
        permissions: ['*'],
        not_before: null,
        not_after: null,
        revoked: false,
      },
    ],
    devices: Array.from({ length: devices }, (_, number) => ({
      device_id: siteDevice(number),
      product_id: 'doorbell',
      secret: secretOf(siteDevice(number)),
      expires_at: null,
      disabled: false,
    })),
    webhooks,
  };
}
