/**
 * The gateways of devices and callers: the sleep and the signal port and the API; how they open, drain and close.
 * Several processes of one server each have it, on the same ports.
 */
import type { Cancel } from '../../lib/clock.ts';
import { HeartbeatSaver } from '../../core/devices/heartbeat-saver.ts';
import { ApiListener } from '../../gateways/api/listener.ts';
import { disconnectEverybody } from '../../core/devices/disconnect-device.ts';
import { composeApi, type Api, type ApiCalls } from './api.ts';
import type { ServerContext } from './server-context.ts';
import type { WorkerHandle } from '../supervisor/worker-set.ts';
import {
  apiListenerSettings,
  signalGatewaySettings,
  sleepGatewaySettings,
} from '../config/gateway-settings.ts';
import { formatListenAddress } from '../config/settings-values.ts';
import { signalSessions, sleepSessions } from '../../core/devices/admit-session.ts';
import { reportWake } from '../../core/wakeups/report-wake.ts';
import { SignalListener } from '../../gateways/signal/listener.ts';
import { SleepListener } from '../../gateways/sleep/listener.ts';
import type { Settings } from '../config/settings-schema.ts';

export interface GatewaysDeps {
  /** Among other processes of this server, behind the same ports; null: nobody else has them. */
  readonly handle: WorkerHandle | null;
}

export class Gateways {
  readonly deviceListeners: DeviceListeners;
  readonly #context: ServerContext;
  readonly #deps: GatewaysDeps;
  readonly #saver: HeartbeatSaver;
  #stopSaving: Cancel = () => undefined;
  #api: Api | null = null;
  #apiListener: ApiListener | null = null;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(context: ServerContext, deps: GatewaysDeps) {
    this.#context = context;
    this.#deps = deps;
    this.#saver = new HeartbeatSaver(context.directory);
    this.deviceListeners = composeDeviceListeners(context, deps.handle);
  }

  /** Resolves to real addresses. Callers are let in behind `others`, with everything they may ask for in place. */
  async listen(
    calls: ApiCalls,
    others: Promise<unknown>,
  ): Promise<Readonly<Record<'api' | 'sleep' | 'signal', string>>> {
    const { settings, clock } = this.#context;
    const { handle } = this.#deps;
    this.#api = await composeApi(settings, { ...this.#context, calls });
    const apiSettings = { ...apiListenerSettings(settings), sharesPort: handle !== null };
    this.#apiListener = new ApiListener(apiSettings, this.#api.pipeline, this.#context.connections.api);
    await this.deviceListeners.sleep.listen();
    await this.deviceListeners.signal.listen();
    await others;
    this.#stopSaving = this.#saver.start(clock);
    const apiPort = await this.#apiListener.listen();
    return {
      api: formatListenAddress({ host: settings.api.listen.host, port: apiPort }),
      sleep: formatListenAddress(this.deviceListeners.sleep.address),
      signal: formatListenAddress(this.deviceListeners.signal.address),
    };
  }

  /** Failures are logged and change nothing. */
  reloadTls(): void {
    for (const [name, listener] of Object.entries({ ...this.deviceListeners, api: this.#apiListener }))
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
    this.#apiListener?.stopListening();
    await this.#api?.pipeline.idle();
  }

  /** What was observed is in the records, and no socket is left. */
  async close(): Promise<void> {
    this.#apiListener?.close();
    this.#stopSaving();
    this.#saver.saveAll();
    this.deviceListeners.signal.close();
    await this.deviceListeners.sleep.close();
    await this.#api?.close();
  }

  async #drain(name: keyof DeviceListeners): Promise<void> {
    const { settings, log } = this.#context;
    const { drain_per_second: rate, drain_deadline_ms: deadlineMs } = settings[name];
    const left = await this.deviceListeners[name].drain(rate, deadlineMs);
    if (left > 0) log.warn({ left, listener: name }, 'sessions left to the kernel');
  }
}

type Reported = Parameters<ServerContext['watch']['reported']>;

export interface DeviceListeners {
  readonly sleep: SleepListener;
  readonly signal: SignalListener;
}

/** `place`: among other processes of this server; null: nobody else has these ports. Throws when TLS is asked for and its files are not in order. */
export function composeDeviceListeners(context: ServerContext, handle: WorkerHandle | null): DeviceListeners {
  const { settings, clock, log, telemetry, records, connections } = context;
  const common = { clock, log, telemetry };
  const admission = {
    ...context,
    wakeups: {
      reported: (...[deviceId, sessionId, report]: Reported) =>
        reportWake(context, deviceId, sessionId, report),
    },
    isOverloaded: () => records.isOverloaded(),
  };
  const sleep: SleepListener = new SleepListener(sleepGatewaySettings(settings), {
    ...common,
    sessions: sleepSessions(admission),
    otherSockets: () => connections.othersOf('sleep'),
    isHanded: handle !== null,
  });
  const signal: SignalListener = new SignalListener(
    { ...signalGatewaySettings(settings), sharesPort: handle !== null },
    {
      ...common,
      sessions: signalSessions(admission),
      sleepServers: () => advertisedSleepServers(settings, sleep),
      otherSockets: () => connections.othersOf('signal'),
    },
  );
  connections.join('sleep', sleep);
  connections.join('signal', signal);
  handle?.sleepPort(sleep);
  return { sleep, signal };
}

/** What controllers are told to have their modules log in to: what is set, or where the sleep port listens. */
function advertisedSleepServers({ sleep }: Settings, listener: SleepListener): readonly string[] {
  return sleep.advertise.length > 0 ? sleep.advertise : [formatListenAddress(listener.address)];
}
