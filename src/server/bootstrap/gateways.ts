/** Gateways of devices and backends: sleep port, signal port and API; how they open, drain and close. */
import { assert } from '../../lib/assert.ts';
import { completesWithin, type Cancel } from '../../lib/clock.ts';
import { readVersion } from '../../lib/package-version.ts';
import { HeartbeatSaver } from '../../core/devices/heartbeat-saver.ts';
import { disconnectEverybody } from '../../core/devices/disconnect-device.ts';
import { Api, type ApiCalls } from './api.ts';
import type { ServerContext } from './server-context.ts';
import { formatListenAddress } from '../../lib/connections/listen-address.ts';
import { signalSessions, sleepSessions } from '../../core/devices/admit-session.ts';
import { reportWake } from '../../core/wakeups/wakeup-watch.ts';
import { SignalListener } from '../../gateways/signal/listener.ts';
import { SleepListener } from '../../edge/listener.ts';
import { EdgeGate, type EdgeGateSettings } from '../../edge/edge-gate.ts';
import type { EdgeFacts, SleepFront } from '../../edge/sleep-front.ts';
import { edgesBackMsMax, lastRequestMs } from '../site/site-limits.ts';
import { liveSleepServers, sleepServersFor } from '../../edge/sleep-servers.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { CoreHandle } from '../site/core-task.ts';

export class Gateways {
  readonly deviceListeners: DeviceListeners;
  readonly #context: ServerContext;
  readonly #core: CoreHandle | null;
  readonly #saver: HeartbeatSaver;
  #stopSaving: Cancel = () => undefined;
  #api: Api | null = null;

  /** `core`: edges hold the sleep connections; null: this process does. Throws when the TLS files are invalid. */
  constructor(context: ServerContext, core: CoreHandle | null) {
    this.#context = context;
    this.#core = core;
    this.#saver = new HeartbeatSaver(context.directory);
    this.deviceListeners = composeDeviceListeners(context, core);
  }

  /** Resolves with the bound addresses. The API opens after `others`, so that all it needs is in place. */
  async listen(
    calls: ApiCalls,
    others: Promise<unknown>,
  ): Promise<Readonly<Record<'api' | 'sleep' | 'signal', string>>> {
    const { sleep, signal } = this.deviceListeners;
    const api = new Api({ ...this.#context, calls, holding: this.#core?.holding ?? null });
    this.#api = api;
    if (sleep instanceof SleepListener) await sleep.listen();
    else if (this.#core !== null) await this.#openGate(this.#core);
    await signal.listen();
    await others;
    this.#stopSaving = this.#saver.start(this.#context.clock);
    return {
      api: await api.listen(),
      sleep: formatListenAddress(sleep.address),
      signal: formatListenAddress(signal.address),
    };
  }

  /** Call when the server is ready: begins what a start need not wait for. */
  opened(): void {
    this.api.beginThreads();
  }

  /** Edges of this core, including those on other machines. */
  edges(): readonly EdgeFacts[] {
    const { sleep } = this.deviceListeners;
    return sleep instanceof EdgeGate ? sleep.edges() : [];
  }

  /** Valid once it listens. */
  get api(): Api {
    assert(this.#api !== null, 'the API is composed before it is asked');
    return this.#api;
  }

  /** `reloadTls` throws or rejects, and changes nothing, when the files are invalid. */
  tlsListener(name: 'api' | 'sleep' | 'signal'): { reloadTls(): void | Promise<void> } {
    return name === 'api' ? this.api : this.deviceListeners[name];
  }

  /** Answers pending long polls now. */
  endWaits(): void {
    this.#api?.endWaits();
  }

  /** `isHurried`: skips the drain, since no supervisor is left to end it in time. */
  async drain(isHurried: boolean): Promise<void> {
    if (!isHurried) await Promise.all([this.#drain('sleep'), this.#drain('signal')]);
    // Sessions left at the deadline: the process closes their sockets; close their records too. Edges elsewhere resume their sessions at
    // the next core, which ends those that no edge resumes.
    const outlivesServer = this.#context.settings.edges.listen !== null;
    disconnectEverybody(this.#context, 'drain', outlivesServer ? ['signal'] : undefined);
  }

  /**
   * For the next core: closes HTTP connections with their next answer, then drains signal sessions, and accepts no new ones of either.
   * Everything else is served as before. False: `stay` was called meanwhile.
   */
  async leave(): Promise<boolean> {
    if (!(await this.api.leave())) return false;
    await this.#drain('signal', (...terms) => this.deviceListeners.signal.empty(...terms));
    return this.api.isLeaving;
  }

  /** Reverts `leave`: there is no next core. */
  stay(): void {
    this.api.stay();
    this.deviceListeners.signal.reopen();
  }

  /** After `leave`. Resolves when every accepted request is answered. */
  async handOver(): Promise<void> {
    await this.#api?.finish(lastRequestMs);
    // The drain may have left signal sessions. Edges keep the sleep sessions.
    disconnectEverybody(this.#context, 'drain', ['signal']);
  }

  /** Resolves when every accepted request is answered. */
  async finish(): Promise<void> {
    await this.#api?.finish();
  }

  /** Resolves when all observations are recorded and all sockets closed. */
  async close(): Promise<void> {
    const closing = this.#api?.close();
    this.#stopSaving();
    this.#saver.saveAll();
    this.deviceListeners.signal.close();
    await this.deviceListeners.sleep.close();
    await closing;
  }

  /** The first core is ready once every edge listens. A later one does not wait: its edges may be reconnecting. */
  async #openGate({ isFirst }: CoreHandle): Promise<void> {
    const { sleep } = this.deviceListeners;
    assert(sleep instanceof EdgeGate, 'a core has a gate');
    await sleep.listen();
    const { settings, clock } = this.#context;
    const listening = sleep.whenListening(settings.sleep.edges);
    if (isFirst) await listening;
    else await completesWithin(clock, edgesBackMsMax, listening);
  }

  async #drain(
    name: keyof DeviceListeners,
    act: SignalListener['drain'] = (...terms) => this.deviceListeners[name].drain(...terms),
  ): Promise<void> {
    const { settings, log } = this.#context;
    const { drain_per_second: rate, drain_deadline_ms: deadlineMs } = settings[name];
    const left = await act(rate, deadlineMs);
    if (left > 0)
      log.warn({ left, listener: name }, 'drain: sessions left at the deadline; closed with the process');
  }
}

interface DeviceListeners {
  readonly sleep: SleepFront;
  readonly signal: SignalListener;
}

type Reported = Parameters<ServerContext['watch']['reported']>;

function composeDeviceListeners(context: ServerContext, core: CoreHandle | null): DeviceListeners {
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
          port: 'own',
        })
      : new EdgeGate(gateSettings(settings, core), {
          ...common,
          sessions: unclaimed.claiming(sessions),
          progress,
          release: readVersion(),
        });
  const { advertise } = settings.sleep;
  const sleepServers = (deviceId: DeviceId): readonly string[] => {
    const own = advertise.length > 0 ? advertise : [formatListenAddress(sleep.address)];
    return sleepServersFor(deviceId, liveSleepServers(own, sleep instanceof EdgeGate ? sleep.edges() : []));
  };
  const signal = new SignalListener(settings.signal, {
    ...common,
    sessions: signalSessions(admission),
    sleepServers,
    mediaUrl: () => context.mediaUrl(null),
    otherSockets: () => connections.othersOf('signal'),
  });
  // With edges, their processes hold the descriptors.
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
