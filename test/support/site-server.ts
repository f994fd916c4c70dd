/**
 * A server of a site as a real process, with or without edges, and the devices, backends and operators that use it. The secret
 * of each device is derived from its id.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import {
  SignalController,
  type SignalControllerOptions,
} from '../../src/tools/simulator/signal-controller.ts';
import type { SigningCredential } from '../../src/protocol/tgv1/sign-request.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { ApiClient, type ApiAnswer } from './api-client.ts';
import { runCli, type Launch } from './cli-process.ts';
import { startServerProcess, type ServerProcess } from './server-process.ts';
import { hangMsMax } from './hang-limit.ts';
import type { Ending } from './temporary-store.ts';

export const siteAppId = '2818153';
export const siteCredential = { appId: siteAppId, accessKeyId: 'AKSITE', secretKey: 'secret-of-the-site' };

export function siteDevice(number: number): string {
  return `SITEDEVICE${String(number).padStart(5, '0')}`;
}

export function siteIdentity(number: number): { readonly deviceId: string; readonly secret: string } {
  const deviceId = siteDevice(number);
  return { deviceId, secret: secretOf(deviceId) };
}

/** Entries of the registry file in addition to one application, its product and its credential. */
export interface SiteRegistry {
  readonly devices?: number;
  readonly webhooks?: readonly object[];
}

/** A device by its number in the registry, or by its id. */
export type NamedDevice = number | string;

const idOf = (device: NamedDevice): string => (typeof device === 'number' ? siteDevice(device) : device);

export class SiteServer {
  readonly directory: string;
  readonly #t: Ending;
  /** Each `section.key=value`. */
  readonly settings: readonly string[];
  readonly #options: readonly string[];
  readonly #credential: SigningCredential;
  #server: ServerProcess | null = null;
  readonly #apis: ApiClient[] = [];

  /** `settings`: added to those of every site; `options`: of `serve`. */
  constructor(
    t: Ending,
    directory: string,
    settings: readonly string[],
    options: readonly string[] = [],
    credential: SigningCredential = siteCredential,
  ) {
    this.#t = t;
    this.directory = directory;
    this.settings = [
      `data.dir=${directory}`,
      'wakeup.device_per_second=1000',
      'wakeup.application_per_second=100000',
      'limits.device_logins_per_second=1000',
      ...settings,
    ];
    this.#options = options;
    this.#credential = credential;
    t.after(() => this.#hangUp());
  }

  /** Starts the server; may be called again after it has exited. */
  async start(launch: Launch = {}): Promise<void> {
    this.#server = await startServerProcess(this.#t, this.settings, {}, this.#options, launch);
    this.#hangUp();
    this.newApi();
  }

  get server(): ServerProcess {
    assert.ok(this.#server !== null, 'a server of a site has a process once it is started');
    return this.#server;
  }

  get ports(): ServerProcess['ports'] {
    return this.server.ports;
  }

  get pid(): number {
    const { pid } = this.server.command;
    assert.ok(pid !== undefined, 'a server that was started has a process');
    return pid;
  }

  get api(): ApiClient {
    return this.#apis[0] ?? assert.fail('a server of a site has an API once it is started');
  }

  /** A new client, whose connection the kernel assigns to one of the fronts. */
  newApi(credential = this.#credential): ApiClient {
    const api = new ApiClient(this.ports.api, credential);
    this.#apis.push(api);
    return api;
  }

  module(device: NamedDevice): Promise<SleepingModule> {
    const deviceId = idOf(device);
    return SleepingModule.connect(this.server.ports.sleep, { deviceId, secret: secretOf(deviceId) });
  }

  /** A controller that acknowledges every message at once by default. `tls`: PEM of the authority to trust, over TLS. */
  controller(
    device: NamedDevice,
    options: Partial<Pick<SignalControllerOptions, 'autoAcknowledge' | 'tls'>> = {},
  ): Promise<SignalController> {
    const deviceId = idOf(device);
    const url = `${options.tls === undefined ? 'ws' : 'wss'}://127.0.0.1:${this.ports.signal}`;
    const secret = secretOf(deviceId);
    return SignalController.connect({ url, deviceId, secret, autoAcknowledge: true, ...options });
  }

  /** Runs `reveille` against the server and resolves to its output; fails unless the exit code is 0. */
  async cli(...command: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await runCli([...command, '--data-dir', this.directory]);
    assert.equal(exitCode, 0, `${command.join(' ')}: ${stderr}`);
    return stdout;
  }

  async ops<Answer>(path: string, method = 'GET', body?: object): Promise<Answer> {
    const token = readFileSync(join(this.directory, 'ops.token'), 'utf8').trim();
    const response = await fetch(`http://127.0.0.1:${this.server.ports.ops}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    assert.equal(response.status, 200, path);
    return (await response.json()) as Answer;
  }

  async readiness(): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.server.ports.ops}/readyz`);
    return { status: response.status, text: await response.text() };
  }

  async kill(): Promise<void> {
    await this.server.command.stop('SIGKILL');
  }

  /** Stops in order. Resolves to the exit code. */
  async stop(): Promise<number | null> {
    return this.server.command.stop('SIGTERM');
  }

  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  #hangUp(): void {
    for (const api of this.#apis.splice(0)) api.close();
  }
}

let wakes = 0;

/** Wakes a device. Every request differs, so that none counts as a repeat. */
export function wake(api: ApiClient, device: NamedDevice): Promise<ApiAnswer> {
  wakes += 1;
  return api.wake({ device_id: idOf(device), number: wakes });
}

/**
 * Repeats a request until the answer is the wanted one. Resolves to the elapsed milliseconds; fails after `hangMsMax` with the
 * last answer.
 */
export async function until(
  ask: () => Promise<ApiAnswer>,
  isWanted: (answer: ApiAnswer) => boolean,
): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const answer = await ask();
    const tookMs = performance.now() - startedMs;
    if (isWanted(answer)) return tookMs;
    assert.ok(tookMs < hangMsMax, `never: ${answer.text}`);
    await wait(25);
  }
}

export const hasCode =
  (...codes: number[]) =>
  ({ json }: ApiAnswer): boolean =>
    codes.includes(json.code ?? -1);

export function isOnline({ json }: ApiAnswer): boolean {
  const { signal } = (json.data ?? {}) as { signal?: { is_online: boolean } };
  return signal?.is_online === true;
}

interface SleepTimes {
  /** Unix seconds; null: never. */
  readonly last_login_at: number | null;
  readonly last_offline_at: number | null;
}

/** True: a sleep session is open. After a restart of the site, the ended earlier session is known as well. */
export function isAsleep({ json }: ApiAnswer): boolean {
  const { sleep } = (json.data ?? {}) as { sleep?: SleepTimes };
  const { last_login_at: loginAt = null, last_offline_at: offlineAt = null } = sleep ?? {};
  return loginAt !== null && loginAt >= (offlineAt ?? 0);
}

export function siteRegistry({
  devices = 160,
  webhooks = [],
}: SiteRegistry): Readonly<Record<string, readonly object[]>> {
  const { accessKeyId: access_key_id, secretKey: secret_key, appId: app_id } = siteCredential;
  const terms = { permissions: ['*'], not_before: null, not_after: null, revoked: false };
  return {
    applications: [{ app_id, name: 'site' }],
    products: [{ product_id: 'doorbell', app_ids: [app_id] }],
    credentials: [{ access_key_id, secret_key, app_id, ...terms }],
    devices: Array.from({ length: devices }, (_, number) => deviceEntry(siteDevice(number))),
    webhooks,
  };
}

export function deviceEntry(device_id: string, secret = secretOf(device_id)): object {
  return { device_id, product_id: 'doorbell', secret, expires_at: null, disabled: false };
}

export function secretOf(deviceId: string): string {
  return `secret of ${deviceId}`;
}
