/**
 * The whole server: its parts in the order they are put together, and how it stops. Nothing listens for devices or
 * callers until the store is open, the registry is in, and what a crash left open is closed.
 */
import type { Cancel, Clock } from '../base/clock.ts';
import { HeartbeatSaver } from '../actor/heartbeat-saver.ts';
import { ApiListener } from '../http/listener.ts';
import { expelEverybody } from '../operations/expel-device.ts';
import type { OpsListener } from '../ops/ops-listener.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Log } from '../ports/log.ts';
import { openStore, type Store } from '../store/open-store.ts';
import { composeApi, type Api } from './api.ts';
import type { DemoRegistry } from './demo-seed.ts';
import { composeDeviceDoors, composeOps, type DeviceDoors } from './doors.ts';
import { EventRoutes } from './event-routes.ts';
import { composeHouse, type House } from './house.ts';
import { LiveTokenKeys, tokenKeyFileOf } from './live-token-keys.ts';
import { startMediaChild, type MediaCarrier } from './media-child.ts';
import { reportRisks } from './risks.ts';
import { removeRuntimeFile, writeRuntimeFile } from './runtime-file.ts';
import type { Settings } from './settings-schema.ts';
import { formatListenAddress, type ListenAddress } from './settings-values.ts';
import { endOpenSessions, fillRegistry } from './start-up.ts';
import { tokenKeyRoutes } from './token-key-routes.ts';

export interface ServerHouse {
  readonly clock: Clock;
  readonly log: Log;
  /** Left out: a child. */
  readonly startMedia?: () => MediaCarrier;
}

type ListenerName = 'api' | 'sleep' | 'signal' | 'media' | 'ops';

export interface RunningServer {
  /** Real addresses, by name. */
  readonly listeners: Readonly<Record<ListenerName, string>>;
  /** What a first start with nothing configured made; null otherwise. To be shown once. */
  readonly demo: DemoRegistry | null;
  readonly events: EventLog;
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
    const tokenKeys = await LiveTokenKeys.open({ ...house, file: tokenKeyFileOf(settings) });
    server = new Server(settings, { ...house, tokenKeys }, store);
    await server.start();
    return server;
  } catch (error) {
    await (server ?? store).close();
    throw error;
  }
}

interface ServerFrame extends ServerHouse {
  readonly tokenKeys: LiveTokenKeys;
}

class Server implements RunningServer {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #store: Store;
  readonly #house: House;
  readonly #doors: DeviceDoors;
  readonly #eventRoutes: EventRoutes;
  readonly #ops: OpsListener;
  readonly #saver: HeartbeatSaver;
  readonly #cancels: Cancel[] = [];
  #api: Api | null = null;
  #apiListener: ApiListener | null = null;
  #listeners: RunningServer['listeners'] = { api: '', sleep: '', signal: '', media: '', ops: '' };
  #demo: DemoRegistry | null = null;

  constructor(settings: Settings, frame: ServerFrame, store: Store) {
    const { clock, log, tokenKeys, startMedia = startMediaChild } = frame;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#store = store;
    this.#house = composeHouse(settings, store, {
      clock,
      log,
      tokenKeys,
      startMedia,
      opsAddress: () => this.#ops.address,
      doors: () => this.#doors,
    });
    const house = this.#house;
    this.#saver = new HeartbeatSaver(house.directory);
    this.#doors = composeDeviceDoors(house);
    this.#eventRoutes = new EventRoutes({ clock, events: house.records.events });
    this.#ops = composeOps({
      ...house,
      dataDirectory: store.directory,
      routes: [
        ...this.#eventRoutes.routes,
        ...house.webhooks.routes,
        ...house.calls.routes,
        ...tokenKeyRoutes(house.tokenKeys),
      ],
      forgetDerivedKeys: () => house.signingKeys.purgeAll(),
    });
  }

  get listeners(): RunningServer['listeners'] {
    return this.#listeners;
  }

  get demo(): DemoRegistry | null {
    return this.#demo;
  }

  get events(): EventLog {
    return this.#house.records.events;
  }

  async start(): Promise<void> {
    const { modeBefore, directory } = this.#store;
    if (modeBefore !== null)
      this.#log.warn({ directory, mode: modeBefore.toString(8) }, 'data directory closed to others');
    reportRisks(this.#settings, this.#log);
    const opsPort = await this.#ops.listen();
    this.#demo = await fillRegistry(this.#settings, this.#house);
    const { readiness, watch, webhooks, calls } = this.#house;
    await webhooks.start();
    await endOpenSessions(this.#house);
    watch.resume();
    calls.resume();
    this.#cancels.push(watch.start());
    // It takes its time, and needs nothing of those that come up beside it.
    const media = calls.media.start();
    media.catch(() => undefined);
    const isDraining = (): boolean => readiness.has('draining');
    this.#api = await composeApi(this.#settings, { ...this.#house, isDraining });
    await this.#doors.sleep.listen();
    await this.#doors.signal.listen();
    await media;
    this.#cancels.push(this.#saver.start(this.#clock));
    this.#apiListener = new ApiListener(this.#api.pipeline);
    const { api, ops } = this.#settings;
    const apiPort = await this.#apiListener.listen(api.listen.host, api.listen.port);
    this.#listeners = {
      api: withPort(api.listen, apiPort),
      sleep: formatListenAddress(this.#doors.sleep.address),
      signal: formatListenAddress(this.#doors.signal.address),
      media: formatListenAddress(calls.front.address ?? this.#settings.media.listen),
      ops: withPort(ops.listen, opsPort),
    };
    writeRuntimeFile(directory, this.#listeners);
    readiness.clear('starting');
  }

  async reload(): Promise<void> {
    const { file } = this.#settings.registry;
    if (file !== null) await this.#house.refresh.import({ file, replace: false, skipUnchanged: false });
    this.#house.calls.front.reloadTls();
    for (const [name, door] of Object.entries(this.#doors))
      try {
        door.reloadTls();
      } catch (error) {
        this.#log.error({ err: error, listener: name }, 'certificate not reloaded; the one in force stays');
      }
    await this.#house.tokenKeys.reload();
  }

  async stop(): Promise<void> {
    const { readiness, directory } = this.#house;
    readiness.set('draining');
    this.#log.info({ devices: directory.size }, 'draining');
    this.#api?.endWaits();
    this.#eventRoutes.endWaits();
    await Promise.all([this.#house.calls.drain(), this.#drain('sleep'), this.#drain('signal')]);
    // What the deadline left: their sockets go with the process, their records must not say they are open.
    expelEverybody(this.#house, 'drain');
    this.#apiListener?.stopListening();
    await this.#api?.pipeline.idle();
    await this.close();
    this.#log.info({}, 'stopped');
  }

  /** Everything that was opened; what was acknowledged is in the store before it closes. */
  async close(): Promise<void> {
    this.#apiListener?.close();
    for (const cancel of this.#cancels) cancel();
    this.#saver.saveAll();
    this.#house.calls.close();
    this.#doors.signal.close();
    await this.#doors.sleep.close();
    await this.#api?.close();
    await this.#house.records.close();
    await this.#house.webhooks.stop();
    this.#ops.close();
    removeRuntimeFile(this.#store.directory);
    await this.#store.close();
  }

  async #drain(door: keyof DeviceDoors): Promise<void> {
    const { drain_per_second: rate, drain_deadline_ms: deadlineMs } = this.#settings[door];
    const left = await this.#doors[door].drain(rate, deadlineMs);
    if (left > 0) this.#log.warn({ left, listener: door }, 'sessions left to the kernel');
  }
}

function withPort({ host }: ListenAddress, port: number): string {
  return formatListenAddress({ host, port });
}
