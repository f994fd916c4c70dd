/**
 * The devices of the soak: modules that stay asleep, and whole devices that log in when woken. Both are woken at fixed rates
 * through the API, and every packet must arrive at the requested device.
 */
import type { ReveilleClient } from '../../../src/client/reveille-client.ts';
import type { DeviceFleet } from '../../../src/tools/simulator/device-fleet.ts';
import { moduleAlone, wholeDevice, type DeviceLife } from '../../../src/tools/simulator/simulated-device.ts';
import { siteIdentity } from '../../support/site-server.ts';
import { openFleet } from '../../support/simulated-fleet.ts';
import { Latencies, type ErrorCounts } from './latencies.ts';
import type { SoakPlan } from './plan.ts';

export interface DevicePorts {
  readonly sleep: number;
  readonly signal: number;
}

export interface DeviceLoadDeps {
  readonly plan: SoakPlan;
  readonly ports: DevicePorts;
  readonly client: ReveilleClient;
  readonly errors: ErrorCounts;
}

interface AwaitedWake {
  readonly askedMs: number;
  acceptedMs: number | null;
}

const rampPerSecond = 1500;
const bootMs = 300;
const onlineMs = 3000;
/** A packet counts as missing this long after its 202. */
const packetMsMax = 5000;
const lookEveryMs = 250;

export class DeviceLoad {
  readonly wakeups = new Latencies();
  readonly #deps: DeviceLoadDeps;
  readonly #modules: DeviceFleet;
  readonly #devices: DeviceFleet;
  /** Wakeups without a packet so far, by device id. */
  readonly #awaited = new Map<string, AwaitedWake>();
  #timers: readonly NodeJS.Timeout[] = [];

  constructor(deps: DeviceLoadDeps) {
    const { plan, ports } = deps;
    this.#deps = deps;
    const sleepServer = `127.0.0.1:${ports.sleep}`;
    const alone = plan.devices - plan.wholeDevices;
    this.#modules = this.#newFleet(moduleAlone(sleepServer, plan.heartbeatSeconds), 0, alone);
    this.#devices = this.#newFleet(wholeDevice, alone, plan.wholeDevices);
  }

  start(): void {
    this.#modules.start();
    this.#devices.start();
  }

  startWaking(): void {
    const { plan } = this.#deps;
    this.#timers = [
      setInterval(() => void this.#wake(this.#modules), 1000 / plan.moduleWakesPerSecond),
      setInterval(() => void this.#wake(this.#devices), 1000 / plan.deviceWakesPerSecond),
      setInterval(() => this.#expireMissing(), lookEveryMs),
    ];
  }

  get asleep(): number {
    return this.#modules.tally.inStage('asleep') + this.#devices.tally.inStage('asleep');
  }

  get awake(): number {
    return this.#devices.tally.inStage('online') + this.#devices.tally.inStage('falling-asleep');
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#modules.stop();
    this.#devices.stop();
  }

  #newFleet(life: DeviceLife, first: number, count: number): DeviceFleet {
    const { ports, plan, errors } = this.#deps;
    return openFleet({
      devices: Array.from({ length: count }, (_, index) => siteIdentity(first + index)),
      life,
      onlineMs,
      bootMs,
      rampPerSecond,
      sleepPort: ports.sleep,
      signalPort: ports.signal,
      heartbeatSeconds: plan.heartbeatSeconds,
      onWake: (deviceId) => this.#completeWake(deviceId),
      onTrouble: (error) => errors.add('device', error),
    });
  }

  async #wake(fleet: DeviceFleet): Promise<void> {
    const { client } = this.#deps;
    const deviceId = fleet.pickAsleep();
    if (deviceId === null || this.#awaited.has(deviceId)) return;
    const wake: AwaitedWake = { askedMs: performance.now(), acceptedMs: null };
    this.#awaited.set(deviceId, wake);
    try {
      const answer = await client.wake(deviceId);
      if (answer.ok) wake.acceptedMs = performance.now();
      else this.#fail(deviceId, wake, String(answer.code));
    } catch (error) {
      this.#fail(deviceId, wake, (error as Error).name);
    }
  }

  #completeWake(deviceId: string): void {
    const wake = this.#awaited.get(deviceId);
    this.#awaited.delete(deviceId);
    if (wake === undefined) this.#deps.errors.add('wakeup', 'a packet that nobody waits for');
    else this.wakeups.add(performance.now() - wake.askedMs);
  }

  #expireMissing(): void {
    const beforeMs = performance.now() - packetMsMax;
    for (const [deviceId, wake] of this.#awaited)
      if (wake.acceptedMs !== null && wake.acceptedMs < beforeMs) this.#fail(deviceId, wake, 'no packet');
  }

  #fail(deviceId: string, wake: AwaitedWake, error: string): void {
    if (this.#awaited.get(deviceId) === wake) this.#awaited.delete(deviceId);
    this.#deps.errors.add('wakeup', error);
  }
}
