/** Runs `serve --edges N` as a shell does, and finds its processes by name. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { SiteJson, SiteProcessJson } from '../../src/server/site/site-route.ts';
import { hangMsMax } from './hang-limit.ts';
import { processGone } from './process-life.ts';
import { siteRegistry, SiteServer } from './site-server.ts';
import type { Ending } from './temporary-store.ts';

export interface EdgesOptions {
  readonly edges: number;
  readonly devices: number;
  /** Each `section.key=value`. */
  readonly settings?: readonly string[];
  /** Module to run as the program. Default: that of this checkout. */
  readonly program?: string;
}

export class EdgesSite extends SiteServer {
  readonly #program: string | undefined;
  readonly #pids = new Set<number>();

  protected constructor(
    t: Ending,
    directory: string,
    { edges, devices, settings = [], program }: EdgesOptions,
  ) {
    const registryFile = join(directory, 'registry.json');
    writeFileSync(registryFile, JSON.stringify(siteRegistry({ devices })));
    super(
      t,
      join(directory, 'data'),
      [`registry.file=${registryFile}`, ...settings],
      ['--edges', String(edges)],
    );
    this.#program = program;
    t.after(() => this.#clear(directory));
  }

  static async open(t: Ending, options: EdgesOptions): Promise<EdgesSite> {
    const site = new EdgesSite(t, mkdtempSync(join(tmpdir(), 'reveille-edges-')), options);
    await site.start();
    return site;
  }

  override async start(): Promise<void> {
    await super.start(this.#program === undefined ? {} : { program: this.#program });
    await this.processes();
  }

  async processes(): Promise<readonly SiteProcessJson[]> {
    const { processes } = await this.ops<SiteJson>('/v1/site');
    for (const { pid } of processes) if (pid !== null) this.#pids.add(pid);
    return processes;
  }

  async process(name: string): Promise<SiteProcessJson & { readonly pid: number }> {
    const found = (await this.processes()).find((one) => one.name === name);
    assert.ok(found !== undefined && found.pid !== null, `${name} is there`);
    return { ...found, pid: found.pid };
  }

  /** Resolves when the process is up and has another id than `pid`. */
  replaced(name: string, pid: number): Promise<void> {
    return this.#shows(name, (one) => one.state === 'up' && one.pid !== pid);
  }

  hasState(name: string, state: string): Promise<void> {
    return this.#shows(name, (one) => one.state === state);
  }

  async #shows(name: string, isWanted: (one: SiteProcessJson) => boolean): Promise<void> {
    for (const startedMs = performance.now(); ; await wait(25)) {
      const processes = await this.processes().catch(() => []);
      if (processes.some((one) => one.name === name && isWanted(one))) return;
      assert.ok(performance.now() - startedMs < hangMsMax, `${name} was not seen as wanted`);
    }
  }

  async metrics(isWanted: (text: string) => boolean): Promise<void> {
    for (const startedMs = performance.now(); ; await wait(50)) {
      const text = await (await fetch(`http://127.0.0.1:${this.ports.ops}/metrics`)).text();
      if (isWanted(text)) return;
      assert.ok(performance.now() - startedMs < hangMsMax, 'never in the metrics');
    }
  }

  async allExited(): Promise<void> {
    await Promise.all(Array.from(this.#pids, processGone));
  }

  async #clear(directory: string): Promise<void> {
    await this.kill();
    await this.allExited();
    rmSync(directory, { recursive: true, force: true });
  }
}
