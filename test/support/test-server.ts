/** A whole server on free ports with a registry of its own, and helpers to call it and log devices in. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/lib/clock.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import {
  SignalController,
  type SignalControllerOptions,
} from '../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { WakeMode } from '../../src/model/sleep.ts';
import { startServer, type RunningServer } from '../../src/server/bootstrap/server.ts';
import { loadSettings } from '../../src/server/config/settings.ts';
import type { SigningCredential } from '../../src/protocol/tgv1/sign-request.ts';
import { ApiClient } from './api-client.ts';
import { FakeLog } from './fakes.ts';
import { startMediaInside } from './inside-media.ts';
import { freeListens, portsOf, type ListenerPorts } from './server-process.ts';

const appId = '2818153';

const otherAppId = '9999999';

function credential(name: string, app = appId): SigningCredential {
  return { accessKeyId: `AKtest-${name}`, secretKey: `the secret of ${name}`, appId: app };
}

export const testCredentials = {
  all: credential('all'),
  second: credential('second'),
  reader: credential('reader'),
  waker: credential('waker'),
  /** All permissions, for the application that has FOREIGN01. */
  other: credential('other', otherAppId),
};

export const testBridgeKeys = { own: 'key-of-a-bridge-of-the-test-application' };

const anHourS = 3600;

function registryFile(): object {
  const nowS = Math.floor(Date.now() / 1000);
  const terms: Record<string, object> = {
    reader: { permissions: ['connectivity:read'] },
    waker: { permissions: ['wakeup:write'] },
  };
  const device = (device_id: string, product_id = 'doorbell', expires_at: number | null = null): object => {
    return { device_id, product_id, secret: `secret of ${device_id}`, expires_at, disabled: false };
  };
  return {
    applications: [
      { app_id: appId, name: 'test' },
      { app_id: otherAppId, name: 'other' },
    ],
    credentials: Object.entries(testCredentials).map(([name, { accessKeyId, secretKey, ...of }]) => ({
      access_key_id: accessKeyId,
      secret_key: secretKey,
      app_id: of.appId,
      permissions: ['*'],
      not_before: null,
      not_after: null,
      revoked: false,
      ...terms[name],
    })),
    products: [
      { product_id: 'doorbell', app_ids: [appId] },
      { product_id: 'foreign', app_ids: [otherAppId] },
    ],
    devices: [
      device('TESTDEVICE01'),
      device('SLEEPING01'),
      device('SLEEPING02'),
      device('L'.repeat(255)),
      device('a b c+'),
      { ...device('DISABLED01'), disabled: true },
      device('EXPIRED01', 'doorbell', nowS - anHourS),
      device('FOREIGN01', 'foreign'),
    ],
    bridges: [
      {
        bridge_id: 'bridge-1',
        key_sha256: createHash('sha256').update(testBridgeKeys.own).digest('hex'),
        app_ids: [appId],
      },
    ],
  };
}

const registryFileName = 'registry.json';

export async function writeTestRegistry(directory: string): Promise<string> {
  const file = join(directory, registryFileName);
  await writeFile(file, JSON.stringify(registryFile()));
  return file;
}

export const everyServer = { fronts: 0 };

export interface TestServerOptions {
  readonly clock?: Clock;
  /** Data directory of an earlier server, to restart on it. */
  readonly dataDirectory?: string;
  /** Each `section.key=value`. */
  readonly overrides?: readonly string[];
  /** Place of the media process: `inside` the test, without decoding, or a `child` as in production. */
  readonly media?: 'inside' | 'child';
  /** Starts the media process inside. Default: startMediaInside. */
  readonly startMedia?: typeof startMediaInside;
}

type ControllerOptions = Partial<
  Pick<SignalControllerOptions, 'media' | 'autoAcknowledge' | 'onMessage' | 'secret' | 'localAddress'>
>;

export interface TestServer {
  readonly server: RunningServer;
  readonly api: ApiClient;
  readonly credentials: typeof testCredentials;
  readonly ports: ListenerPorts;
  readonly log: FakeLog;
  readonly dataDirectory: string;
  module(
    deviceId: string,
    options?: { wakeMode?: WakeMode; heartbeatSeconds?: number },
  ): Promise<SleepingModule>;
  controller(deviceId: string, options?: ControllerOptions): Promise<SignalController>;
  /** Stops the server and keeps its data. */
  halt(): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const dataDirectory = options.dataDirectory ?? (await mkdtemp(join(tmpdir(), 'reveille-test-')));
  const file =
    options.dataDirectory === undefined
      ? await writeTestRegistry(dataDirectory)
      : join(dataDirectory, registryFileName);
  const log = new FakeLog();
  const settings = loadSettings({
    env: {},
    overrides: [
      ...freeListens,
      `data.dir=${dataDirectory}`,
      `registry.file=${file}`,
      `api.fronts=${everyServer.fronts}`,
      ...(options.overrides ?? []),
    ],
  });
  const clock = options.clock ?? new SystemClock();
  const inside =
    options.media === 'child' ? {} : { startMedia: () => (options.startMedia ?? startMediaInside)(clock) };
  const server = await startServer(settings, { clock, log, ...inside });
  const ports = portsOf(server.listeners);
  const api = new ApiClient(ports.api, testCredentials.all, () => clock.wallMs());
  const halt = async (): Promise<void> => {
    api.close();
    await server.stop();
  };
  return {
    server,
    api,
    credentials: testCredentials,
    ports,
    log,
    dataDirectory,
    module: (deviceId, moduleOptions = {}) =>
      SleepingModule.connect(ports.sleep, {
        deviceId,
        secret: `secret of ${deviceId}`,
        ...moduleOptions,
      }),
    controller: (deviceId, controllerOptions = {}) =>
      SignalController.connect({
        url: `ws://127.0.0.1:${ports.signal}/v1/signal`,
        deviceId,
        secret: `secret of ${deviceId}`,
        ...controllerOptions,
      }),
    halt,
    async stop() {
      await halt();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}
