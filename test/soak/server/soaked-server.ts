/** The soaked server: several processes, each with a probe, and the operator's actions during the soak. */
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../../src/lib/module-worker.ts';
import type { SiteJson } from '../../../src/server/site/site-route.ts';
import { childOf } from '../../support/process-samples.ts';
import { runCli } from '../../support/cli-process.ts';
import { startServerProcess, withMedia, type ServerProcess } from '../../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../../support/temporary-store.ts';
import { bridgeKey } from '../media/call-server.ts';
import type { LoadOrder, LoadReport } from './load-process.ts';
import {
  edges,
  sampleSeconds,
  samplesPerCollection,
  soakRegistry,
  type LeakKind,
  type SoakPlan,
} from './plan.ts';
import { preloadOf } from './preload.ts';
import { appendSample, nowSeconds, type Role } from './samples.ts';

export interface SoakedServerOptions {
  readonly plan: SoakPlan;
  readonly file: string;
  readonly leaks: readonly LeakKind[];
}

const upgradeMsMax = 180_000;
const lookMs = 500;

export class SoakedServer {
  readonly #options: SoakedServerOptions;
  readonly #directory: string;
  readonly #load: ChildProcess;
  readonly #server: ServerProcess;
  readonly #known = new Set<number>();
  #imports = 0;

  private constructor(
    options: SoakedServerOptions,
    directory: string,
    load: ChildProcess,
    server: ServerProcess,
  ) {
    this.#options = options;
    this.#directory = directory;
    this.#load = load;
    this.#server = server;
  }

  static async start(t: Ending, options: SoakedServerOptions): Promise<SoakedServer> {
    const { plan, file } = options;
    const directory = temporaryDirectory(t);
    const load = startLoad(t, plan);
    const { hooks } = await reported(load, 'hooks');
    const registries = [plan.devices, plan.devices + plan.importedDevices].map((devices) =>
      JSON.stringify(soakRegistry(devices, hooks)),
    );
    await Promise.all(registries.map((text, place) => writeFile(registryFile(directory, place), text)));
    const settings = [
      `data.dir=${join(directory, 'data')}`,
      `registry.file=${registryFile(directory, 0)}`,
      'webhooks.allow_local=true',
      `media.bridge_keys=${bridgeKey}`,
      ...withMedia,
      'auth.verification=pool',
    ];
    const processes = ['--edges', String(edges)];
    const probe = preloadOf({ file, leaks: options.leaks, sampleSeconds, samplesPerCollection });
    const server = await startServerProcess(t, settings, {}, processes, { imports: [probe] });
    const soaked = new SoakedServer(options, directory, load, server);
    await soaked.#recordMembers();
    const { api, sleep: sleepPort, signal, media } = server.ports;
    order(load, { kind: 'start', file, ports: { api, sleep: sleepPort, signal, media } });
    await reported(load, 'asleep');
    return soaked;
  }

  /** Upgrades the core, as an operator does. Resolves when the new process has taken over. */
  async upgrade(): Promise<void> {
    const before = await this.#corePid();
    this.#recordDeed('upgrade-begin');
    process.kill(this.#pid, 'SIGUSR2');
    const startMs = performance.now();
    for (;;) {
      await sleep(lookMs);
      const now = await this.#corePid().catch(() => before);
      if (now !== before) break;
      if (performance.now() - startMs > upgradeMsMax) {
        this.#recordFault(`an upgrade was not through after ${upgradeMsMax / 1000} s`);
        break;
      }
    }
    await this.#recordMembers();
    this.#recordDeed('upgrade-end');
  }

  /** Imports a registry with thousands of devices more, and the next time without them. */
  async import(): Promise<void> {
    this.#imports += 1;
    const file = registryFile(this.#directory, this.#imports % 2);
    const command = ['registry', 'import', file, '--replace', '--yes', '--data-dir', this.#dataDirectory];
    const { exitCode, stderr } = await runCli(command);
    if (exitCode !== 0) this.#recordFault(`an import failed: ${stderr.trim()}`);
    this.#recordDeed('import');
  }

  async endLoad(): Promise<void> {
    const gone = once(this.#load, 'exit');
    order(this.#load, { kind: 'stop' });
    const [code] = await gone;
    if (code !== 0) this.#recordFault(`the load ended with ${String(code)}`);
  }

  async stop(): Promise<void> {
    const died = this.#server.command.lines.filter((line) => /: died/.test(line));
    if (died.length > 0) this.#recordFault(`a process died: ${died.join('; ')}`);
    const code = await this.#server.command.stop('SIGTERM');
    if (code !== 0) this.#recordFault(`the server ended with ${String(code)}`);
  }

  get #pid(): number {
    return this.#server.command.pid ?? assert.fail('a server that was started has a process');
  }

  get #dataDirectory(): string {
    return join(this.#directory, 'data');
  }

  async #recordMembers(): Promise<void> {
    this.#recordMember(this.#pid, 'supervisor');
    const corePid = await this.#corePid();
    this.#recordMember(corePid, 'core');
    this.#recordMember(childOf(this.#pid, 'media/process/main'), 'media');
    for (const { kind, pid } of await this.#processes())
      if (kind === 'edge' && pid !== null) this.#recordMember(pid, 'edge');
  }

  #recordMember(pid: number, role: Role): void {
    if (this.#known.has(pid)) return;
    this.#known.add(pid);
    appendSample(this.#options.file, { kind: 'member', at: nowSeconds(), pid, role });
  }

  async #corePid(): Promise<number> {
    const pid = (await this.#processes()).find(({ kind }) => kind === 'core')?.pid;
    assert.ok(typeof pid === 'number', 'a server has a core');
    return pid;
  }

  async #processes(): Promise<SiteJson['processes']> {
    const token = readFileSync(join(this.#dataDirectory, 'ops.token'), 'utf8').trim();
    const response = await fetch(`http://127.0.0.1:${this.#server.ports.ops}/v1/site`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    assert.equal(response.status, 200);
    return ((await response.json()) as SiteJson).processes;
  }

  #recordFault(sentence: string): void {
    appendSample(this.#options.file, { kind: 'deed', at: nowSeconds(), what: 'wrong', sentence });
  }

  #recordDeed(what: 'upgrade-begin' | 'upgrade-end' | 'import'): void {
    appendSample(this.#options.file, { kind: 'deed', at: nowSeconds(), what });
  }
}

function registryFile(directory: string, place: number): string {
  return join(directory, `registry-${place}.json`);
}

function startLoad(t: Ending, plan: SoakPlan): ChildProcess {
  const file = fileURLToPath(moduleBeside('./load-process', import.meta.url));
  const load = fork(file, [JSON.stringify(plan)]);
  t.after(() => void load.kill('SIGKILL'));
  return load;
}

function order(load: ChildProcess, what: LoadOrder): void {
  load.send(what);
}

/** Resolves with the first report of this kind. Rejects if the load ends before. */
function reported<Kind extends LoadReport['kind']>(
  load: ChildProcess,
  kind: Kind,
): Promise<LoadReport & { kind: Kind }> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`the load ended with ${String(code)}`));
    const take = (report: LoadReport): void => {
      if (report.kind !== kind) return;
      load.off('message', take).off('exit', ended);
      resolve(report as LoadReport & { kind: Kind });
    };
    load.on('message', take).once('exit', ended);
  });
}
