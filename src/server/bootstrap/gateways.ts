/**
 * The gateways of devices and callers: the sleep and the signal port and the API; how they open, drain and close.
 * Several processes of one server each have it, on the same ports.
 */
import type { Cancel } from '../../lib/clock.ts';
import { HeartbeatSaver } from '../../core/devices/heartbeat-saver.ts';
import { disconnectEverybody } from '../../core/devices/disconnect-device.ts';
import { Api, type ApiDeps } from './api.ts';
import type { ServerContext } from './server-context.ts';
import type { WorkerHandle } from '../supervisor/worker-set.ts';
import { formatListenAddress } from '../../model/settings-values.ts';
import { signalSessions, sleepSessions } from '../../core/devices/admit-session.ts';
import { reportWake } from '../../core/wakeups/wakeup-watch.ts';
import { SignalListener } from '../../gateways/signal/listener.ts';
import { SleepListener } from '../../gateways/sleep/listener.ts';

export class Gateways {
  readonly deviceListeners: DeviceListeners;
  readonly #context: ServerContext;
  readonly #sharesPorts: boolean;
  readonly #saver: HeartbeatSaver;
  #stopSaving: Cancel = () => undefined;
  #api: Api | null = null;

  /**
   * `handle`: among other processes behind the same ports; null: nobody else has them. Throws when TLS is asked for and its
   * files are not in order.
   */
  constructor(context: ServerContext, handle: WorkerHandle | null) {
    this.#context = context;
    this.#sharesPorts = handle !== null;
    this.#saver = new HeartbeatSaver(context.directory);
    this.deviceListeners = composeDeviceListeners(context, this.#sharesPorts);
    handle?.sleepPort(this.deviceListeners.sleep);
  }

  /** Resolves to real addresses. Callers are let in behind `others`, with everything they may ask for in place. */
  async listen(
    elsewhere: Pick<ApiDeps, 'calls' | 'provision'>,
    others: Promise<unknown>,
  ): Promise<Readonly<Record<'api' | 'sleep' | 'signal', string>>> {
    const { sleep, signal } = this.deviceListeners;
    const api = await Api.compose({ ...this.#context, ...elsewhere }, this.#sharesPorts);
    this.#api = api;
    await sleep.listen();
    await signal.listen();
    await others;
    this.#stopSaving = this.#saver.start(this.#context.clock);
    return {
      api: await api.listen(),
      sleep: formatListenAddress(sleep.address),
      signal: formatListenAddress(signal.address),
    };
  }

  /** Failures are logged and change nothing. */
  reloadTls(): void {
    for (const [name, listener] of Object.entries({ ...this.deviceListeners, api: this.#api }))
      try {
        listener?.reloadTls();
      } catch (error) {
        this.#context.log.error(
          { err: error, listener: name },
          'certificate not reloaded; the one in force stays',
        );
      }
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

function composeDeviceListeners(context: ServerContext, sharesPorts: boolean): DeviceListeners {
  const { settings, clock, log, telemetry, records, connections } = context;
  const common = { clock, log, telemetry };
  const { loginsAreClosed } = records;
  const wakeups = { reported: (...reported: Reported) => reportWake(context, ...reported) };
  const admission = { ...context, wakeups, loginsAreClosed };
  const sleep = new SleepListener(settings.sleep, {
    ...common,
    sessions: sleepSessions(admission),
    otherSockets: () => connections.othersOf('sleep'),
    isLent: sharesPorts,
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
    sharesPort: sharesPorts,
  });
  connections.join('sleep', sleep);
  connections.join('signal', signal);
  return { sleep, signal };
}
