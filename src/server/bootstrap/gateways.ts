/**
 * The gateways of devices and callers: the sleep and the signal port and the API; how they open, drain and close.
 * Several processes of one server each have it, on the same ports.
 */
import { assert } from '../../lib/assert.ts';
import { nextTurn, settlesWithin, type Cancel } from '../../lib/clock.ts';
import { readVersion } from '../../lib/package-version.ts';
import type { SocketHandle } from '../../lib/bound-sockets.ts';
import type { MovedSession, SessionTicket, SleepConnection } from '../../core/ports/device-sessions.ts';
import { HeartbeatSaver } from '../../core/devices/heartbeat-saver.ts';
import { disconnectEverybody } from '../../core/devices/disconnect-device.ts';
import { Api, type ApiDeps } from './api.ts';
import type { ServerContext } from './server-context.ts';
import type { WorkerHandle } from '../supervisor/worker-set.ts';
import { formatListenAddress } from '../../lib/connections/listen-address.ts';
import { adoptSession, signalSessions, sleepSessions } from '../../core/devices/admit-session.ts';
import { reportWake } from '../../core/wakeups/wakeup-watch.ts';
import { SignalListener } from '../../gateways/signal/listener.ts';
import { SleepListener, type ArrivingConnection } from '../../edge/listener.ts';
import type { SleepPort } from '../../edge/sleep-sockets.ts';
import { EdgeGate, type EdgeGateSettings } from '../../edge/edge-gate.ts';
import type { EdgeFacts, SleepFront } from '../../edge/sleep-front.ts';
import { edgesBackMsMax } from '../site/site-limits.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { CoreHandle } from '../site/core-task.ts';
import { handOverSlice } from '../../model/upgrade-limits.ts';

/** A sleep session that another process had. */
export interface ArrivingSession extends ArrivingConnection {
  readonly moved: MovedSession;
}

export class Gateways {
  readonly deviceListeners: DeviceListeners;
  readonly #context: ServerContext;
  readonly #handle: WorkerHandle | null;
  readonly #core: CoreHandle | null;
  readonly #sharesApiPort: boolean;
  readonly #saver: HeartbeatSaver;
  #stopSaving: Cancel = () => undefined;
  #api: Api | null = null;

  /**
   * `handle`: among other processes behind the same ports; null: nobody else has them. `sharesApiPort`: others may listen on
   * it, too. `core`: edges hold the sleep connections; null: this process does. Throws when TLS is asked for and its files
   * are not in order.
   */
  constructor(
    context: ServerContext,
    handle: WorkerHandle | null,
    sharesApiPort: boolean,
    core: CoreHandle | null,
  ) {
    this.#context = context;
    this.#handle = handle;
    this.#core = core;
    this.#sharesApiPort = sharesApiPort;
    this.#saver = new HeartbeatSaver(context.directory);
    this.deviceListeners = composeDeviceListeners(context, handle === null ? 'own' : 'lent', core);
    handle?.sleepPort(this.sleepListener);
  }

  /**
   * Resolves to real addresses. Callers are let in behind `others`, with everything they may ask for in place. `inherited`:
   * the sockets of the sleep port that another process has listened on.
   */
  async listen(
    elsewhere: Pick<ApiDeps, 'calls' | 'provision'>,
    others: Promise<unknown>,
    inherited: readonly SocketHandle[],
  ): Promise<Readonly<Record<'api' | 'sleep' | 'signal', string>>> {
    const { sleep, signal } = this.deviceListeners;
    const api = await Api.compose({ ...this.#context, ...elsewhere }, this.#sharesApiPort);
    this.#api = api;
    if (this.#core === null) await this.sleepListener.listen(inherited);
    else await this.#openGate(this.#core);
    await signal.listen(this.#handle === null ? null : await this.#handle.signalSocket());
    await others;
    this.#stopSaving = this.#saver.start(this.#context.clock);
    return {
      api: await api.listen(),
      sleep: formatListenAddress(sleep.address),
      signal: formatListenAddress(signal.address),
    };
  }

  /** The sleep port of this process. Never called on a core that has edges. */
  get sleepListener(): SleepListener {
    const { sleep } = this.deviceListeners;
    assert(sleep instanceof SleepListener, 'this process holds the sleep connections itself');
    return sleep;
  }

  /** The edges of this core, those elsewhere among them. */
  edges(): readonly EdgeFacts[] {
    const { sleep } = this.deviceListeners;
    return sleep instanceof EdgeGate ? sleep.edges() : [];
  }

  /** What callers reach; once it listens. */
  get api(): Api {
    assert(this.#api !== null, 'the API is composed before it is asked');
    return this.#api;
  }

  /**
   * Takes up sleep sessions of the process that this one succeeds, before anybody can log in. Resolves to how many there
   * are: by the store some may be over. Rejects when that cannot be read.
   */
  async adopt(sessions: readonly ArrivingSession[]): Promise<number> {
    let adopted = 0;
    for (const [at, { moved, ...arriving }] of sessions.entries()) {
      if (at % handOverSlice === 0) await nextTurn();
      const claim = (connection: SleepConnection): SessionTicket | null =>
        adoptSession(this.#context, moved, connection);
      if (this.sleepListener.adopt(arriving, claim)) adopted += 1;
    }
    return adopted;
  }

  /** Ends the signal sessions at the rate of a drain, and the sleep sessions that no other process can take. */
  async drainUnmovable(): Promise<void> {
    const kinds = this.sleepListener.isEncrypted ? (['signal', 'sleep'] as const) : (['signal'] as const);
    await Promise.all(kinds.map((kind) => this.#drain(kind)));
    disconnectEverybody(this.#context, 'drain', kinds);
  }

  /** Of a process that is succeeded, once its sessions are handed over: what was observed is in the records. */
  async release(): Promise<void> {
    this.#stopSaving();
    this.#saver.saveAll();
    this.deviceListeners.signal.close();
    await this.#api?.stopVerifying();
  }

  /** Its `reloadTls` throws or rejects, and changes nothing, when the files are not in order. */
  tlsListener(name: 'api' | 'sleep' | 'signal'): { reloadTls(): void | Promise<void> } {
    return name === 'api' ? this.api : this.deviceListeners[name];
  }

  /** Who waits for an event or an outcome is answered now. */
  endWaits(): void {
    this.#api?.endWaits();
  }

  /** `isHurried`: nobody would see to it that a drain ends. */
  async drain(isHurried: boolean): Promise<void> {
    if (!isHurried) await Promise.all([this.#drain('sleep'), this.#drain('signal')]);
    // What the deadline left: their sockets go with the process, their records must not say they are open.
    disconnectEverybody(this.#context, 'drain');
  }

  /** Resolves when every request that was taken is answered. */
  async finish(): Promise<void> {
    await this.#api?.finish();
  }

  /** What was observed is in the records, and no socket is left. */
  async close(): Promise<void> {
    const closing = this.#api?.close();
    this.#stopSaving();
    this.#saver.saveAll();
    this.deviceListeners.signal.close();
    await this.deviceListeners.sleep.close();
    await closing;
  }

  /** The first core says that it serves once every edge does. A later one has edges that may just be coming back. */
  async #openGate({ isFirst }: CoreHandle): Promise<void> {
    const { sleep } = this.deviceListeners;
    assert(sleep instanceof EdgeGate, 'a core has a gate');
    await sleep.listen();
    const { settings, clock } = this.#context;
    const listening = sleep.whenListening(settings.sleep.edges);
    if (isFirst) await listening;
    else await settlesWithin(clock, edgesBackMsMax, listening);
  }

  async #drain(name: keyof DeviceListeners): Promise<void> {
    const { settings, log } = this.#context;
    const { drain_per_second: rate, drain_deadline_ms: deadlineMs } = settings[name];
    const left = await this.deviceListeners[name].drain(rate, deadlineMs);
    if (left > 0) log.warn({ left, listener: name }, 'sessions left to the kernel');
  }
}

interface DeviceListeners {
  readonly sleep: SleepFront;
  readonly signal: SignalListener;
}

type Reported = Parameters<ServerContext['watch']['reported']>;

function composeDeviceListeners(
  context: ServerContext,
  port: SleepPort,
  core: CoreHandle | null,
): DeviceListeners {
  const { settings, clock, log, telemetry, records, connections, progress, unclaimed } = context;
  const common = { clock, log, telemetry };
  const { loginsAreClosed } = records;
  const wakeups = { reported: (...reported: Reported) => reportWake(context, ...reported) };
  const admission = { ...context, wakeups, loginsAreClosed };
  const sessions = sleepSessions(admission);
  const sleep =
    core === null
      ? new SleepListener(settings.sleep, {
          ...common,
          sessions,
          otherSockets: () => connections.othersOf('sleep'),
          port,
        })
      : new EdgeGate(gateSettings(settings, core), {
          ...common,
          sessions: unclaimed.claiming(sessions),
          progress,
          release: readVersion(),
        });
  // What controllers are told to have their modules log in to.
  const { advertise } = settings.sleep;
  const sleepServers = (): readonly string[] =>
    advertise.length > 0 ? advertise : [formatListenAddress(sleep.address)];
  const signal = new SignalListener(settings.signal, {
    ...common,
    sessions: signalSessions(admission),
    sleepServers,
    mediaUrl: () => context.mediaUrl(null),
    otherSockets: () => connections.othersOf('signal'),
  });
  // Edges have the descriptors.
  connections.join('sleep', sleep, core === null ? 0 : Infinity);
  connections.join('signal', signal);
  return { sleep, signal };
}

function gateSettings(settings: Settings, { edgeSocket }: CoreHandle): EdgeGateSettings {
  const { sleep, edges } = settings;
  const { listen: address, key_file: keyFile } = edges;
  const elsewhere = address === null || keyFile === null ? null : { address, keyFile };
  return { sleep, socketPath: edgeSocket, elsewhere };
}
