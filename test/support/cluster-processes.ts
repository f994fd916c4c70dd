/**
 * `serve --processes N` as a shell would start it, the processes of it by number, and the devices and backends that
 * talk to them.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ClusterJson, MemberJson } from '../../src/server/membership/cluster-json.ts';
import { ApiClient, type ApiAnswer } from './api-client.ts';
import { siteAppId, siteDevice, until } from './cluster-site.ts';
import { processGone } from './process-life.ts';
import { serveArguments, startServerProcess, type ServerProcess } from './server-process.ts';
import type { Ending } from './temporary-store.ts';

const credential = { appId: siteAppId, accessKeyId: 'AKPROCESSES', secretKey: 'secret-of-the-processes' };
const clock = new SystemClock();

export interface ProcessesOptions {
  readonly devices?: number;
  readonly webhooks?: readonly object[];
  readonly overrides?: readonly string[];
}

interface SleepTimes {
  /** Unix seconds. */
  readonly last_login_at: number | null;
  readonly last_offline_at: number | null;
}

export class ProcessSite {
  readonly directory: string;
  readonly workers: number;
  readonly #t: Ending;
  readonly #overrides: readonly string[];
  #server: ServerProcess | null = null;
  readonly #apis: ApiClient[] = [];
  readonly #pids = new Set<number>();
  #wakeups = 0;

  private constructor(t: Ending, workers: number, options: ProcessesOptions) {
    this.directory = mkdtempSync(join(tmpdir(), 'reveille-processes-'));
    this.workers = workers;
    this.#t = t;
    const file = join(this.directory, 'registry.json');
    writeFileSync(file, JSON.stringify(registryOf(options)));
    this.#overrides = [
      `data.dir=${this.#dataDirectory}`,
      `registry.file=${file}`,
      'auth.verification=inline',
      'wakeup.device_per_second=1000',
      'wakeup.application_per_second=100000',
      ...(options.overrides ?? []),
    ];
    t.after(() => this.#clear());
  }

  /** All up. */
  static async start(t: Ending, workers: number, options: ProcessesOptions = {}): Promise<ProcessSite> {
    const site = new ProcessSite(t, workers, options);
    await site.restart();
    return site;
  }

  /** Once the one before is gone. */
  async restart(): Promise<void> {
    this.#server = await startServerProcess(this.#t, this.#overrides, {}, [
      '--processes',
      String(this.workers),
    ]);
    await this.members();
  }

  get server(): ServerProcess {
    assert.ok(this.#server !== null, 'a site has a supervisor once it is started');
    return this.#server;
  }

  get arguments(): string[] {
    return [...serveArguments(this.#overrides), '--processes', String(this.workers)];
  }

  /** One more connection, which the kernel gives to one of the workers. */
  api(): ApiClient {
    const api = new ApiClient(this.server.ports.api, credential);
    this.#apis.push(api);
    return api;
  }

  module(number: number): Promise<SleepingModule> {
    const deviceId = siteDevice(number);
    return SleepingModule.connect(this.server.ports.sleep, { deviceId, secret: secretOf(deviceId) });
  }

  /** Never a repeat of one before: within a second those would be the same request. */
  wake(api: ApiClient, number: number): Promise<ApiAnswer> {
    this.#wakeups += 1;
    const custom_data = `0x${(this.#wakeups % 0x10000).toString(16).padStart(4, '0')}`;
    return api.wake({ device_id: siteDevice(number), custom_data });
  }

  /** Resolves when all processes can know that the device sleeps. */
  async committed(number: number): Promise<void> {
    const call = (): Promise<ApiAnswer> => this.api().connectivity(siteDevice(number));
    // Of a site that was killed and started again the login before is known, too: it has ended.
    const isAsleep = ({ json }: ApiAnswer): boolean => {
      const { last_login_at: loginAt, last_offline_at: offlineAt } = (json.data as { sleep: SleepTimes })
        .sleep;
      return loginAt !== null && loginAt >= (offlineAt ?? 0);
    };
    await until(call, isAsleep, 10_000);
  }

  controller(number: number): Promise<SignalController> {
    const deviceId = siteDevice(number);
    const url = `ws://127.0.0.1:${this.server.ports.signal}`;
    return SignalController.connect({ url, deviceId, secret: secretOf(deviceId), clock });
  }

  /** As operators see them, by number. */
  async members(): Promise<readonly MemberJson[]> {
    const { members } = await this.ops<ClusterJson>('/v1/cluster');
    for (const { pid } of members) if (typeof pid === 'number') this.#pids.add(pid);
    return members;
  }

  async member(process: number): Promise<MemberJson> {
    const member = (await this.members()).find((one) => one.process === process);
    assert.ok(member !== undefined, `there is a process ${process}`);
    return member;
  }

  async pid(process: number): Promise<number> {
    const { pid } = await this.member(process);
    assert.ok(typeof pid === 'number', `process ${process} is there`);
    return pid;
  }

  /** Resolves to the milliseconds until it is up and is another than `pid`. */
  async replaced(process: number, pid: number, waitMs: number): Promise<number> {
    const startedMs = performance.now();
    for (;;) {
      const member = await this.member(process).catch(() => null);
      const tookMs = performance.now() - startedMs;
      if (member?.state === 'up' && member.pid !== pid) return tookMs;
      assert.ok(tookMs < waitMs, `process ${process} was not replaced within ${waitMs} ms`);
      await wait(20);
    }
  }

  async ops<Answer>(path: string, method = 'GET', body?: object): Promise<Answer> {
    const token = readFileSync(join(this.#dataDirectory, 'ops.token'), 'utf8').trim();
    const response = await fetch(`http://127.0.0.1:${this.server.ports.ops}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    assert.equal(response.status, 200, path);
    return (await response.json()) as Answer;
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

  get #dataDirectory(): string {
    return join(this.directory, 'data');
  }

  async #clear(): Promise<void> {
    for (const api of this.#apis) api.close();
    await this.#server?.command.stop('SIGKILL');
    await this.gone();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function secretOf(deviceId: string): string {
  return `secret of ${deviceId}`;
}

function registryOf({ devices = 64, webhooks = [] }: ProcessesOptions): object {
  const { accessKeyId: access_key_id, secretKey: secret_key, appId: app_id } = credential;
  const terms = { permissions: ['*'], not_before: null, not_after: null, revoked: false };
  return {
    applications: [{ app_id, name: 'processes' }],
    products: [{ product_id: 'doorbell', app_ids: [app_id] }],
    credentials: [{ access_key_id, secret_key, app_id, ...terms }],
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
