/** A site with edges whose program a test replaces, and whose core is upgraded while devices sleep and backends send requests. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiAnswer } from './api-client.ts';
import { mainArgs, runCli, type CliResult } from './cli-process.ts';
import { EdgesSite, type EdgesOptions } from './edges-site.ts';
import { wake } from './site-server.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

export const sameRelease = `await import(${JSON.stringify(pathToFileURL(mainArgs.at(-1) ?? '').href)});`;

export interface Upgraded {
  readonly pid: number;
  /** Time from the order to listen until the core serves: the longest that requests were queued. */
  readonly held_ms: number;
}

export class UpgradeSite {
  readonly site: EdgesSite;
  readonly modules: SleepingModule[] = [];
  readonly closed: number[] = [];
  readonly #program: string;

  private constructor(site: EdgesSite, program: string) {
    this.site = site;
    this.#program = program;
  }

  static async open(t: Ending, options: Omit<EdgesOptions, 'program'>): Promise<UpgradeSite> {
    const program = join(temporaryDirectory(t), 'release.mjs');
    writeFileSync(program, sameRelease);
    return new UpgradeSite(await EdgesSite.open(t, { ...options, program }), program);
  }

  /** Installs a release: the text of a module. */
  install(release: string): void {
    writeFileSync(this.#program, release);
  }

  command(...options: readonly string[]): Promise<CliResult> {
    return runCli(['upgrade', ...options, '--data-dir', this.site.directory]);
  }

  /** Logs in `count` devices, `atOnce` at a time. `connect`: by default to an edge of the site. */
  async sleep(
    devices: number,
    connect = (device: number): Promise<SleepingModule> => this.site.module(device),
    atOnce = 64,
  ): Promise<void> {
    const left = Array.from({ length: devices }, (_, device) => device).values();
    const logIn = async (): Promise<void> => {
      for (const device of left) {
        const module = await connect(device);
        this.modules[device] = module;
        void module.closed.then(() => this.closed.push(device));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, logIn));
  }

  /** Wakes the device. Resolves when the packet has arrived. */
  async wakes(device: number): Promise<ApiAnswer> {
    const answer = await wake(this.site.api, device);
    assert.equal(answer.status, 202, answer.text);
    await this.modules[device]?.nextPacket();
    return answer;
  }

  /** Upgrades by a signal to the process that was started. `which`: number of the upgrade at this site, from 1. */
  async upgrade(which = 1): Promise<Upgraded> {
    process.kill(this.site.pid, 'SIGUSR2');
    return this.site.server.command.logged<Upgraded>('upgrade: new release serves', which);
  }

  async corePid(): Promise<number> {
    return (await this.site.process('core')).pid;
  }

  async offlineEvents(): Promise<string> {
    return this.site.cli('events', '--type', 'device.sleep.offline', '--json');
  }
}
