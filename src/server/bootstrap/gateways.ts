/**
 * The gateways of devices and callers: the sleep and the signal port and the API; how they open, drain and close.
 * Several processes of one server each have it, on the same ports.
 */
import { assert } from '../../lib/assert.ts';
import { nextTurn, type Cancel } from '../../lib/clock.ts';
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
import { handOverSlice } from '../../model/upgrade-limits.ts';

/** A sleep session that another process had. */
export interface ArrivingSession extends ArrivingConnection {
  readonly moved: MovedSession;
}

export class Gateways {
  readonly deviceListeners: DeviceListeners;
  readonly #context: ServerContext;
  readonly #handle: WorkerHandle | null;
  readonly #sharesApiPort: boolean;
  readonly #saver: HeartbeatSaver;
  #stopSaving: Cancel = () => undefined;
  #api: Api | null = null;

  /**
   * `handle`: among other processes behind the same ports; null: nobody else has them. `sharesApiPort`: others may listen on
   * it, too. Throws when TLS is asked for and its files are not in order.
   */
  constructor(context: ServerContext, handle: WorkerHandle | null, sharesApiPort: boolean) {
    this.#context = context;
    this.#handle = handle;
    this.#sharesApiPort = sharesApiPort;
    this.#saver = new HeartbeatSaver(context.directory);
    this.deviceListeners = composeDeviceListeners(context, handle === null ? 'own' : 'lent');
    handle?.sleepPort(this.deviceListeners.sleep);
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
    await sleep.listen(inherited);
    await signal.listen(this.#handle === null ? null : await this.#handle.signalSocket());
    await others;
    this.#stopSaving = this.#saver.start(this.#context.clock);
    return {
      api: await api.listen(),
      sleep: formatListenAddress(sleep.address),
      signal: formatListenAddress(signal.address),
    };
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
      if (this.deviceListeners.sleep.adopt(arriving, claim)) adopted += 1;
    }
    return adopted;
  }

  /** Ends the signal sessions at the rate of a drain, and the sleep sessions that no other process can take. */
  async drainUnmovable(): Promise<void> {
    const { sleep } = this.deviceListeners;
    const kinds = sleep.isEncrypted ? (['signal', 'sleep'] as const) : (['signal'] as const);
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

  /** Its `reloadTls` throws, and changes nothing, when the files are not in order. */
  tlsListener(name: 'api' | 'sleep' | 'signal'): { reloadTls(): void } {
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

  async #drain(name: keyof DeviceListeners): Promise<void> {
    const { settings, log } = this.#context;
    const { drain_per_second: rate, drain_deadline_ms: deadlineMs } = settings[name];
    const left = await this.deviceListeners[name].drain(rate, deadlineMs);
    if (left > 0) log.warn({ left, listener: name }, 'sessions left to the kernel');
  }
}

interface DeviceListeners {
  readonly sleep: SleepListener;
  readonly signal: SignalListener;
}

type Reported = Parameters<ServerContext['watch']['reported']>;

function composeDeviceListeners(context: ServerContext, port: SleepPort): DeviceListeners {
  const { settings, clock, log, telemetry, records, connections } = context;
  const common = { clock, log, telemetry };
  const { loginsAreClosed } = records;
  const wakeups = { reported: (...reported: Reported) => reportWake(context, ...reported) };
  const admission = { ...context, wakeups, loginsAreClosed };
  const sleep = new SleepListener(settings.sleep, {
    ...common,
    sessions: sleepSessions(admission),
    otherSockets: () => connections.othersOf('sleep'),
    port,
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
  connections.join('sleep', sleep);
  connections.join('signal', signal);
  return { sleep, signal };
}
