/**
 * A server that is upgraded while devices sleep and backends ask: what they see of it. The process that was started stays the
 * parent, and whoever serves in the end is found by the lock of the directory.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as wait } from 'node:timers/promises';
import { livingPid } from '../../src/storage/lmdb/data-directory.ts';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiAnswer } from './api-client.ts';
import { mainArgs, runCli, type CliResult } from './cli-process.ts';
import { siteRegistry, SiteServer, wake } from './site-server.ts';
import { lastFirst, temporaryDirectory, type Ending } from './temporary-store.ts';

/** The program itself. */
export const sameRelease = `await import(${JSON.stringify(pathToFileURL(mainArgs.at(-1) ?? '').href)});`;

/** A release that acts so once it has loaded, by the words of the hand-over. */
export function brokenRelease(facts: object, onOrder: string): string {
  return `
    process.on('message', (order) => { ${onOrder} });
    process.send({ kind: 'loaded', ...${JSON.stringify(facts)} });
  `;
}

/** The same as one of several processes: it loads, and ends when it is to take over. */
export function brokenWorker(facts: object, exitCode: number): string {
  return `
    const loaded = { kind: 'loaded', ...${JSON.stringify(facts)} };
    process.on('message', ({ kind, order }) => {
      if (kind === 'begin') process.send({ kind: 'to-predecessor', report: loaded });
      if (kind === 'heartbeat') process.send({ kind, sleep: { open: 0, taken: 0 } });
      if (kind === 'from-predecessor' && order.kind === 'take-over') process.exit(${exitCode});
    });
    process.send({ kind: 'loaded' });
  `;
}

export interface UpgradeSiteOptions {
  readonly devices: number;
  readonly settings?: readonly string[];
  /** Left out: the server is one process. */
  readonly processes?: number;
}

/** By the log of the process that hands over. */
export interface HandedOver {
  readonly sessions: number;
  readonly of: number;
}

export class UpgradeSite {
  readonly site: SiteServer;
  readonly #program: string;
  readonly #processes: number;
  readonly modules: SleepingModule[] = [];
  /** Devices whose socket was closed, by number. */
  readonly closed: number[] = [];

  private constructor(site: SiteServer, program: string, processes: number) {
    this.site = site;
    this.#program = program;
    this.#processes = processes;
  }

  static async start(
    t: Ending,
    { devices, settings = [], processes = 0 }: UpgradeSiteOptions,
  ): Promise<UpgradeSite> {
    const ending = lastFirst(t);
    const directory = temporaryDirectory(ending);
    const registry = join(directory, 'site-registry.json');
    writeFileSync(registry, JSON.stringify(siteRegistry({ devices })));
    const options = processes === 0 ? [] : ['--processes', String(processes)];
    const site = new SiteServer(ending, directory, [`registry.file=${registry}`, ...settings], options);
    // It has a process group of its own, and goes on when its parent is killed.
    ending.after(() => {
      const pid = livingPid(directory);
      if (pid !== null) process.kill(pid, 'SIGKILL');
    });
    const program = join(directory, 'release.mjs');
    const upgraded = new UpgradeSite(site, program, processes);
    upgraded.install(sameRelease);
    await site.start({ program });
    return upgraded;
  }

  /** From now on this is the release that is in place: the text of a module. */
  install(release: string): void {
    writeFileSync(this.#program, release);
  }

  /** What `reveille upgrade` says and how it ends. */
  command(): Promise<CliResult> {
    return runCli(['upgrade', '--data-dir', this.site.directory]);
  }

  /** So many devices log in, `atOnce` under way. */
  async sleep(devices: number, atOnce = 64): Promise<void> {
    const left = Array.from({ length: devices }, (_, device) => device).values();
    const logIn = async (): Promise<void> => {
      for (const device of left) {
        const module = await this.site.module(device);
        this.modules[device] = module;
        void module.closed.then(() => this.closed.push(device));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, logIn));
  }

  /** Wakes the device, and has the packet arrive. */
  async wakes(device: number): Promise<ApiAnswer> {
    const answer = await wake(this.site.api, device);
    assert.equal(answer.status, 202, answer.text);
    await this.modules[device]?.nextPacket();
    return answer;
  }

  /** The process that serves. */
  get servingPid(): number {
    return livingPid(this.site.directory) ?? assert.fail('a server has the directory');
  }

  /**
   * By a signal, as an operator sends it to the process that was started: the `which`th. Resolves to what each process that hands
   * over says of it, when all have.
   */
  async upgrade(which = 1): Promise<readonly HandedOver[]> {
    const { command } = this.site.server;
    process.kill(this.site.pid, 'SIGUSR2');
    if (this.#processes > 0) await command.logged('the processes of the release in place serve', which);
    const each = Math.max(1, this.#processes);
    const handedOver: HandedOver[] = [];
    for (let place = (which - 1) * each + 1; place <= which * each; place++) {
      const { sessions, of } = await command.logged<HandedOver>('the new release serves', place);
      handedOver.push({ sessions, of });
    }
    return handedOver;
  }

  /** Sessions that are told to have ended, by the log of events. */
  async offlineEvents(): Promise<string> {
    return this.site.cli('events', '--type', 'device.sleep.offline', '--json');
  }
}

/** Of a device that asks forever: what it was answered that was no success. */
export class Load {
  readonly failures: string[] = [];
  done = 0;
  #isOver = false;
  readonly #runs: Promise<void>[] = [];

  /** Each asks again `everyMs` after it began; `isGood` of its answer. */
  run(
    count: number,
    everyMs: number,
    ask: () => Promise<ApiAnswer>,
    isGood: (answer: ApiAnswer) => boolean,
  ): void {
    for (let i = 0; i < count; i++) this.#runs.push(this.#loop(everyMs, ask, isGood));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#runs);
  }

  async #loop(
    everyMs: number,
    ask: () => Promise<ApiAnswer>,
    isGood: (answer: ApiAnswer) => boolean,
  ): Promise<void> {
    while (!this.#isOver) {
      const begunMs = performance.now();
      try {
        const answer = await ask();
        this.done += 1;
        if (!isGood(answer)) this.failures.push(`${answer.status} ${answer.text}`);
      } catch (error) {
        this.failures.push(String(error));
      }
      await wait(Math.max(0, everyMs - (performance.now() - begunMs)));
    }
  }
}
