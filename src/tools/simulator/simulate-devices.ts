/**
 * Two simulations over real sockets: whole devices, which come online, sleep, are woken by chance and come online again,
 * and sleeping modules alone, as a load on the sleep server.
 */
import type { Clock, Cancel } from '../../lib/clock.ts';
import type { ReveilleClient, WakeupOutcomeData } from '../../client/reveille-client.ts';
import { findApi, openApi } from '../../cli/api/api-access.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { findCredential } from '../../cli/api/credential-source.ts';
import { openEndpoints, type DeviceEndpointsOptions } from './device-connections.ts';
import { DeviceFleet } from './device-fleet.ts';
import { DeviceReport } from './device-report.ts';
import { LiveTable } from './fleet-table.ts';
import { type SimulatedDevice, sourceAddress } from './simulated-devices.ts';
import type { SimulateOptions, Simulation } from './simulation.ts';
import { wakeAndWait } from '../../cli/api/wakeup-outcome.ts';
import { parseListenAddress, type ListenAddress } from '../../server/config/settings-values.ts';
import { usageError } from '../../cli/shell/command-error.ts';
import { FleetReport } from './fleet-report.ts';
import { ModuleFleet } from './module-fleet.ts';
import { listenerAddress } from '../../cli/admin/running-server.ts';
import { SleepingModule } from './sleeping-module.ts';

export async function simulateDevices(
  context: CommandContext,
  options: SimulateOptions,
  devices: readonly SimulatedDevice[],
  signalUrl: string,
): Promise<Simulation> {
  const { clock, output } = context;
  const { onlineFor, bootMs, ramp: rampPerSecond, wakeEvery } = options;
  const api = wakeEvery === undefined ? null : await openApiOf(context, options, devices);
  const endpoints: DeviceEndpointsOptions = {
    clock,
    signalUrl,
    sleepServer: options.server,
    wakeMode: options.wakeMode,
    heartbeatSeconds: options.heartbeat,
    devices: devices.length,
    onMessage: () => (fleet.tally.messages += 1),
  };
  const fleet: DeviceFleet = new DeviceFleet(
    devices,
    { onlineMs: onlineFor * 1000, bootMs, rampPerSecond },
    {
      clock,
      random: () => Math.random(),
      endpointsOf: (device, number) => openEndpoints(endpoints, device, number),
      onWake: (deviceId, packet) => report.wake(deviceId, packet),
      onAwake: (deviceId, tookMs) => report.awake(deviceId, tookMs),
      onTrouble: (deviceId, error) => report.trouble(deviceId, error),
    },
  );
  const table = new LiveTable(process.stderr, clock);
  const report = new DeviceReport({ clock, output, table, tally: fleet.tally, wakesItself: api !== null });
  const waker = api === null ? null : newWaker(api, clock, fleet, report);
  return {
    tally: fleet.tally,
    start: () => {
      fleet.start();
      if (wakeEvery !== undefined) waker?.start(wakeEvery * 1000);
    },
    progress: () => report.progress(),
    summary: () => report.summary(),
    stop: () => {
      waker?.stop();
      api?.close();
      fleet.stop();
    },
  };
}

/** All devices are taken to be of one application. */
async function openApiOf(
  context: CommandContext,
  options: SimulateOptions,
  devices: readonly SimulatedDevice[],
): Promise<ReveilleClient> {
  const need = { permission: 'wakeup:write', deviceId: devices[0]?.deviceId ?? null } as const;
  const credential = await findCredential(context, options, need);
  return openApi(findApi(context, options.url), credential, context.clock);
}

function newWaker(api: ReveilleClient, clock: Clock, fleet: DeviceFleet, report: DeviceReport): RandomWaker {
  return new RandomWaker({
    clock,
    pick: () => fleet.pickAsleep(),
    wake: (deviceId) => wakeAndWait(api, clock, deviceId),
    onOutcome: (outcome) => report.outcome(outcome),
    onTrouble: (deviceId, error) => report.trouble(deviceId, error),
  });
}

/** How often a module sends that nobody advised. */
const heartbeatSecondsUsual = 50;

export function simulateModules(
  context: CommandContext,
  options: SimulateOptions,
  devices: readonly SimulatedDevice[],
): Simulation {
  const server = parseServer(options.server ?? listenerAddress(context, 'sleep'));
  const report = new FleetReport(context, devices.length);
  const { wakeMode, heartbeat = heartbeatSecondsUsual, ramp } = options;
  const fleet = new ModuleFleet(
    devices,
    { wakeMode, heartbeatSeconds: heartbeat, rampPerSecond: ramp },
    {
      clock: context.clock,
      connect: (module) => SleepingModule.connect(server.port, { ...module, host: server.host }),
      addressOf: (number) => sourceAddress(number, devices.length, server.host),
      onWake: (deviceId, packet) => report.wake(deviceId, packet),
      onTrouble: (deviceId, error) => report.trouble(deviceId, error),
    },
  );
  return {
    tally: fleet.tally,
    start: () => fleet.start(),
    progress: () => report.progress(fleet.tally),
    summary: () => report.summary(fleet.tally),
    stop: () => fleet.stop(),
  };
}

/** Throws a usage error. */
function parseServer(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address === null || address.port === 0) throw usageError(`--server ${text}: expected host:port`);
  return address;
}

export interface RandomWakerDeps {
  readonly clock: Clock;
  /** One that is asleep; null: none is. */
  readonly pick: () => string | null;
  /** Wakes it and waits for the outcome; rejects when it could not be woken, or nobody knows. */
  readonly wake: (deviceId: string) => Promise<WakeupOutcomeData>;
  readonly onOutcome: (outcome: WakeupOutcomeData) => void;
  readonly onTrouble: (deviceId: string, error: Error) => void;
}

/** Wakeups whose outcome is awaited; beyond it nobody is woken. */
const awaitedMax = 64;

export class RandomWaker {
  readonly #deps: RandomWakerDeps;
  #awaited = 0;
  #cancel: Cancel | null = null;

  constructor(deps: RandomWakerDeps) {
    this.#deps = deps;
  }

  start(everyMs: number): void {
    this.#cancel = this.#deps.clock.every(everyMs, () => void this.#wakeOne());
  }

  /** What is awaited still is not told any more. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  async #wakeOne(): Promise<void> {
    const deviceId = this.#awaited < awaitedMax ? this.#deps.pick() : null;
    if (deviceId === null) return;
    this.#awaited += 1;
    try {
      const outcome = await this.#deps.wake(deviceId);
      if (this.#cancel !== null) this.#deps.onOutcome(outcome);
    } catch (error) {
      if (this.#cancel !== null) this.#deps.onTrouble(deviceId, error as Error);
    } finally {
      this.#awaited -= 1;
    }
  }
}
