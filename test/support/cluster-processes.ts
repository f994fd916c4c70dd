/** `serve --processes N` as a shell would start it, and the processes of it by number. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ClusterJson, MemberJson } from '../../src/server/membership/cluster-json.ts';
import type { ApiClient } from './api-client.ts';
import { processGone } from './process-life.ts';
import { isAsleep, siteDevice, siteRegistry, SiteServer, until, type SiteRegistry } from './site-server.ts';
import { hangMsMax } from './hang-limit.ts';
import type { Ending } from './temporary-store.ts';

export interface ProcessesOptions extends SiteRegistry {
  readonly overrides?: readonly string[];
}

export class ProcessSite extends SiteServer {
  readonly registryFile: string;
  readonly #pids = new Set<number>();

  private constructor(t: Ending, directory: string, workers: number, options: ProcessesOptions) {
    const registryFile = join(directory, 'registry.json');
    writeFileSync(registryFile, JSON.stringify(siteRegistry(options)));
    const settings = [`registry.file=${registryFile}`, ...(options.overrides ?? [])];
    super(t, join(directory, 'data'), settings, ['--processes', String(workers)]);
    this.registryFile = registryFile;
    t.after(() => this.#clear(directory));
  }

  /** All up. */
  static async open(t: Ending, workers: number, options: ProcessesOptions = {}): Promise<ProcessSite> {
    const site = new ProcessSite(t, mkdtempSync(join(tmpdir(), 'reveille-processes-')), workers, options);
    await site.start();
    return site;
  }

  override async start(): Promise<void> {
    await super.start();
    await this.members();
  }

  /** So many connections that each worker has one: which it is with is the kernel's choice. */
  everywhere(): ApiClient[] {
    return Array.from({ length: 16 }, () => this.newApi());
  }

  /** Resolves when all processes can know that the device sleeps. */
  async committed(device: number): Promise<void> {
    await until(() => this.newApi().connectivity(siteDevice(device)), isAsleep);
  }

  /** As operators see them, by number. */
  async members(): Promise<readonly MemberJson[]> {
    const { members } = await this.ops<ClusterJson>('/v1/cluster');
    for (const { pid } of members) if (typeof pid === 'number') this.#pids.add(pid);
    return members;
  }

  async pidOf(process: number): Promise<number> {
    const pid = (await this.members()).find((one) => one.process === process)?.pid;
    assert.ok(typeof pid === 'number', `process ${process} is there`);
    return pid;
  }

  /** Resolves to the milliseconds until it is up and is another than `pid`. */
  async replaced(process: number, pid: number): Promise<number> {
    const startedMs = performance.now();
    for (;;) {
      const members = await this.members().catch(() => []);
      const member = members.find((one) => one.process === process);
      const tookMs = performance.now() - startedMs;
      if (member?.state === 'up' && member.pid !== pid) return tookMs;
      assert.ok(tookMs < hangMsMax, `process ${process} was not replaced`);
      await wait(20);
    }
  }

  /** The sum of a metric's samples whose labels contain `label`. */
  async metric(name: string, label = ''): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.server.ports.ops}/metrics`)).text();
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    const wanted = lines.filter((line) => line.includes(label));
    return wanted.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  /** All processes that were ever seen. */
  async gone(): Promise<void> {
    await Promise.all(Array.from(this.#pids, processGone));
  }

  async #clear(directory: string): Promise<void> {
    await this.kill();
    await this.gone();
    rmSync(directory, { recursive: true, force: true });
  }
}
