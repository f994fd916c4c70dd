/**
 * The whole server: its parts in the order they are put together, and how it stops. Nothing listens for devices or
 * callers until the store is open, the registry is in, and what a crash left open is closed.
 */
import { wallSeconds, type Clock } from '../base/clock.ts';
import { DeviceDirectory } from '../actor/device-directory.ts';
import { HeartbeatSaver } from '../actor/heartbeat-saver.ts';
import { ApiListener } from '../http/listener.ts';
import { Metrics } from '../ops/metrics.ts';
import type { OpsListener } from '../ops/ops-listener.ts';
import { Readiness } from '../ops/readiness.ts';
import type { Log } from '../ports/log.ts';
import type { SleepListener } from '../sleep-gateway/listener.ts';
import { openStore, type Store } from '../store/open-store.ts';
import { RegistryStore } from '../store/registry-store.ts';
import { RegistryWriter } from '../store/registry-write.ts';
import { SigningKeyCache } from '../tgv1/signing-key.ts';
import { composeApi, type Api } from './api.ts';
import { seedDemo, wantsDemo, type DemoRegistry } from './demo-seed.ts';
import { openRecords, type Records } from './records.ts';
import { composeOps, composeSleep } from './doors.ts';
import { RegistryRefresh } from './registry-refresh.ts';
import { removeRuntimeFile, writeRuntimeFile } from './runtime-file.ts';
import type { Settings } from './settings-schema.ts';
import { formatListenAddress, type ListenAddress } from './settings-values.ts';

export interface ServerHouse {
  readonly clock: Clock;
  readonly log: Log;
}

export interface RunningServer {
  /** Real addresses, by name. */
  readonly listeners: Readonly<Record<'api' | 'sleep' | 'ops', string>>;
  /** What a first start with nothing configured made; null otherwise. To be shown once. */
  readonly demo: DemoRegistry | null;
  /** SIGHUP: the registry file again, and the certificates. Never rejects; failures are logged and change nothing. */
  reload(): Promise<void>;
  /** SIGTERM: drains, flushes, closes. */
  stop(): Promise<void>;
}

/** Rejects, with everything closed again, when a part cannot start; the error is a sentence for the operator. */
export async function startServer(settings: Settings, house: ServerHouse): Promise<RunningServer> {
  const store = openStore(settings.data.dir);
  let server: Server | null = null;
  try {
    server = new Server(settings, house, store);
    await server.start();
    return server;
  } catch (error) {
    await (server ?? store).close();
    throw error;
  }
}

class Server implements RunningServer {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #readiness = new Readiness();
  readonly #signingKeys: SigningKeyCache;
  readonly #store: Store;
  readonly #registry: RegistryStore;
  readonly #writer: RegistryWriter;
  readonly #refresh: RegistryRefresh;
  readonly #records: Records;
  readonly #directory: DeviceDirectory;
  readonly #saver: HeartbeatSaver;
  readonly #metrics: Metrics;
  readonly #sleep: SleepListener;
  readonly #ops: OpsListener;
  #api: Api | null = null;
  #apiListener: ApiListener | null = null;
  #cancelSaving = (): void => undefined;
  #listeners: RunningServer['listeners'] = { api: '', sleep: '', ops: '' };
  #demo: DemoRegistry | null = null;

  constructor(settings: Settings, house: ServerHouse, store: Store) {
    const { clock, log } = house;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#signingKeys = new SigningKeyCache(settings.auth.derived_keys_max);
    this.#store = store;
    const { registry: tables, directory } = this.#store;
    this.#registry = new RegistryStore(tables);
    this.#writer = new RegistryWriter(tables, this.#registry);
    this.#refresh = new RegistryRefresh({
      directory,
      registry: this.#registry,
      signingKeys: this.#signingKeys,
      log,
    });
    this.#records = openRecords(this.#store.state, settings, { clock, log, readiness: this.#readiness });
    this.#directory = new DeviceDirectory(this.#records.sleep);
    this.#saver = new HeartbeatSaver(this.#directory);
    this.#metrics = new Metrics({ sleepSessions: () => this.#directory.size });
    const parts = {
      ...house,
      settings,
      registry: this.#registry,
      directory: this.#directory,
      metrics: this.#metrics,
    };
    this.#sleep = composeSleep({ ...parts, isOverloaded: () => this.#records.sleep.isOverloaded });
    this.#ops = composeOps({
      ...parts,
      dataDirectory: directory,
      readiness: this.#readiness,
      writer: this.#writer,
      refresh: this.#refresh,
      forgetDerivedKeys: () => this.#signingKeys.purgeAll(),
    });
  }

  get listeners(): RunningServer['listeners'] {
    return this.#listeners;
  }

  get demo(): DemoRegistry | null {
    return this.#demo;
  }

  async start(): Promise<void> {
    const { modeBefore, directory } = this.#store;
    if (modeBefore !== null)
      this.#log.warn({ directory, mode: modeBefore.toString(8) }, 'data directory closed to others');
    const opsPort = await this.#ops.listen();
    await this.#fillRegistry();
    await this.#endWhatACrashLeftOpen();
    this.#api = await composeApi(this.#settings, {
      clock: this.#clock,
      log: this.#log,
      registry: this.#registry,
      signingKeys: this.#signingKeys,
      directory: this.#directory,
      records: this.#records,
      telemetry: this.#metrics,
      isDraining: () => this.#readiness.has('draining'),
    });
    await this.#sleep.listen();
    this.#cancelSaving = this.#saver.start(this.#clock);
    this.#apiListener = new ApiListener(this.#api.pipeline);
    const { api, ops } = this.#settings;
    const apiPort = await this.#apiListener.listen(api.listen.host, api.listen.port);
    this.#listeners = {
      api: withPort(api.listen, apiPort),
      sleep: formatListenAddress(this.#sleep.address),
      ops: withPort(ops.listen, opsPort),
    };
    writeRuntimeFile(directory, this.#listeners);
    this.#readiness.clear('starting');
  }

  async reload(): Promise<void> {
    const { file } = this.#settings.registry;
    if (file !== null) await this.#refresh.import({ file, replace: false, skipUnchanged: false });
    try {
      this.#sleep.reloadTls();
    } catch (error) {
      this.#log.error({ err: error }, 'certificate not reloaded; the one in force stays');
    }
  }

  async stop(): Promise<void> {
    this.#readiness.set('draining');
    this.#log.info({ sessions: this.#directory.size }, 'draining');
    const { drain_per_second: rate, drain_deadline_ms: deadlineMs } = this.#settings.sleep;
    const left = await this.#sleep.drain(rate, deadlineMs);
    if (left > 0) this.#log.warn({ left }, 'sleep sessions left to the kernel');
    this.#endAllSessions();
    this.#apiListener?.stopListening();
    await this.#api?.pipeline.idle();
    await this.close();
    this.#log.info({}, 'stopped');
  }

  /** Everything that was opened; what was acknowledged is in the store before it closes. */
  async close(): Promise<void> {
    this.#apiListener?.close();
    this.#cancelSaving();
    this.#saver.saveAll();
    await this.#sleep.close();
    await this.#api?.close();
    await this.#records.close();
    this.#ops.close();
    removeRuntimeFile(this.#store.directory);
    await this.#store.close();
  }

  async #fillRegistry(): Promise<void> {
    const { file } = this.#settings.registry;
    if (file !== null) {
      const result = await this.#refresh.import({ file, replace: false, skipUnchanged: true });
      if (!result.ok) throw new Error(result.error.message);
    } else if (wantsDemo(this.#settings, this.#registry)) this.#demo = await seedDemo(this.#writer);
    if (this.#registry.isEmpty())
      this.#log.warn(
        {},
        'the registry is empty: nobody can call and no device can log in; see reveille registry import --help',
      );
  }

  async #endWhatACrashLeftOpen(): Promise<void> {
    const lost = await this.#records.sleep.closeOpenSessions(wallSeconds(this.#clock));
    if (lost > 0)
      this.#log.warn(
        { sessions: lost, reason: 'node_lost' },
        'sessions that the last stop left open are ended',
      );
  }

  /** What the drain's deadline left: their sockets go with the process, their records must not say they are open. */
  #endAllSessions(): void {
    const at = wallSeconds(this.#clock);
    for (const actor of this.#directory.actors())
      actor.post({ event: { kind: 'ended', epoch: actor.sleepEpoch, at, heartbeatAt: actor.heartbeatAt } });
  }
}

function withPort({ host }: ListenAddress, port: number): string {
  return formatListenAddress({ host, port });
}
