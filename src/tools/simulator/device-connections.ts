/**
 * The two connections of one simulated device, a controller by WebSocket and a module by TCP: they open and close as its
 * state machine says, and report to it. The result of an attempt or a connection that was given up is closed unseen.
 */
import type { ConnectionOptions } from 'node:tls';
import type { WakeCause } from '../../model/signal.ts';
import type { SleepAdvice } from '../../protocol/signal/server-message.ts';
import type { DeviceEvent } from './simulated-device.ts';
import { SleepingModule } from './sleeping-module.ts';
import { assert } from '../../lib/assert.ts';
import type { WakeMode } from '../../model/sleep.ts';
import { parseListenAddress } from '../../lib/connections/listen-address.ts';
import { reachableAddress } from '../../cli/admin/running-server.ts';
import { SignalController } from './signal-controller.ts';
import { isRefusal } from './fleet-tally.ts';
import type { SleepServer } from './server-urls.ts';
import { ConnectionFailedError } from '../../cli/shell/connection-failure.ts';
import { sourceAddress, type SimulatedDevice } from './simulated-devices.ts';

/** A signed-in controller, as far as a device needs it. */
export type DeviceController = Pick<
  SignalController,
  'welcome' | 'closed' | 'heartbeat' | 'reportWake' | 'bye' | 'close'
>;

/** A logged-in module, as far as a device needs it. */
export type DeviceModule = Pick<SleepingModule, 'heartbeat' | 'nextPacket' | 'close'>;

/** The way out to the servers. Both reject with what the server, or the way to it, said against. */
export interface DeviceEndpoints {
  readonly signIn: () => Promise<DeviceController>;
  /** The advice to follow, of that which the controller was given. */
  readonly advise: (advice: SleepAdvice) => SleepAdvice;
  /** `server`: `host:port`. */
  readonly fallAsleep: (server: string, advice: SleepAdvice) => Promise<DeviceModule>;
}

export interface DeviceEars {
  readonly happened: (event: DeviceEvent) => void;
  /** Every packet; one that wakes is an event as well. */
  readonly packet: (packet: Buffer) => void;
  readonly trouble: (error: Error) => void;
}

export class DeviceConnections {
  readonly #endpoints: DeviceEndpoints;
  readonly #ears: DeviceEars;
  #controller: DeviceController | null = null;
  #module: DeviceModule | null = null;
  /** Counts attempts, so that what comes late of an earlier one is known by its number. */
  #signalAttempt = 0;
  #sleepAttempt = 0;

  constructor(endpoints: DeviceEndpoints, ears: DeviceEars) {
    this.#endpoints = endpoints;
    this.#ears = ears;
  }

  /** Interval of the signal connection; null: there is none. */
  get signalHeartbeatMs(): number | null {
    return this.#controller === null ? null : this.#controller.welcome.heartbeat_s * 1000;
  }

  /** Sends one on each open connection, and returns their number. */
  heartbeat(): number {
    this.#controller?.heartbeat();
    this.#module?.heartbeat();
    return (this.#controller === null ? 0 : 1) + (this.#module === null ? 0 : 1);
  }

  reportWake(cause: WakeCause): void {
    this.#controller?.reportWake(cause);
  }

  async signIn(): Promise<void> {
    const attempt = (this.#signalAttempt += 1);
    try {
      const controller = await this.#endpoints.signIn();
      if (attempt !== this.#signalAttempt) return leave(controller);
      this.#controller = controller;
      this.#ears.happened({ kind: 'signed-in', advice: this.#endpoints.advise(controller.welcome.sleep) });
      const { code, reason } = await controller.closed;
      const lost = new Error(`the signal connection was closed: ${code} ${reason}`);
      if (attempt === this.#signalAttempt) this.#loseSignal('signal-lost', lost);
    } catch (error) {
      if (attempt === this.#signalAttempt) this.#loseSignal('sign-in-failed', error as Error);
    }
  }

  async logIntoSleep(server: string, advice: SleepAdvice): Promise<void> {
    const attempt = (this.#sleepAttempt += 1);
    try {
      const module = await this.#endpoints.fallAsleep(server, advice);
      if (attempt !== this.#sleepAttempt) return void module.close();
      this.#module = module;
      this.#ears.happened({ kind: 'fell-asleep' });
      while (attempt === this.#sleepAttempt) this.#hear(await module.nextPacket(), attempt, advice);
    } catch (error) {
      if (attempt === this.#sleepAttempt) this.#loseSleep(error as Error);
    }
  }

  leaveSignal(): void {
    this.#signalAttempt += 1;
    if (this.#controller !== null) leave(this.#controller);
    this.#controller = null;
  }

  leaveSleep(): void {
    this.#sleepAttempt += 1;
    void this.#module?.close();
    this.#module = null;
  }

  #hear(packet: Buffer, attempt: number, advice: SleepAdvice): void {
    if (attempt !== this.#sleepAttempt) return;
    this.#ears.packet(packet);
    const bytes = packet.toString('hex');
    if (bytes.startsWith(advice.wake_pattern)) this.#ears.happened({ kind: 'woken' });
    else this.#ears.trouble(new Error(`a packet that wakes nobody: ${bytes}`));
  }

  #loseSignal(kind: 'signal-lost' | 'sign-in-failed', error: Error): void {
    this.#controller = null;
    this.#ears.trouble(error);
    this.#ears.happened({ kind });
  }

  #loseSleep(error: Error): void {
    const kind = this.#module === null ? 'sleep-failed' : 'sleep-lost';
    this.#module = null;
    this.#ears.trouble(error);
    this.#ears.happened({ kind });
  }
}

function leave(controller: DeviceController): void {
  void controller.bye('going to sleep');
  void controller.close();
}

export interface DeviceEndpointsOptions {
  /** Null: there are no controllers. */
  readonly signalUrl: string | null;
  readonly signalTls: ConnectionOptions | undefined;
  /** Its address is taken whatever controllers are told. */
  readonly sleep: SleepServer;
  readonly wakeMode: WakeMode;
  /** Whatever controllers are told; undefined: as they are told. */
  readonly heartbeatSeconds: number | undefined;
  /** Devices there are, which decides how many addresses they come from. */
  readonly devices: number;
  readonly onMessage: () => void;
}

/** For the device of this number (from 0). */
export function openEndpoints(
  options: DeviceEndpointsOptions,
  device: SimulatedDevice,
  number: number,
): DeviceEndpoints {
  const { signalUrl, wakeMode, devices } = options;
  return {
    signIn: async () => {
      const { onMessage, signalTls: tls } = options;
      assert(signalUrl !== null, 'a device that signs in has a controller');
      const connecting = SignalController.connect({
        url: signalUrl,
        tls,
        ...device,
        localAddress: sourceAddress(number, devices, new URL(signalUrl).hostname),
        autoAcknowledge: true,
        onMessage,
      });
      return reached(signalUrl, connecting);
    },
    advise: (advice) => ({
      ...advice,
      servers: options.sleep.address === undefined ? advice.servers : [options.sleep.address],
      heartbeat_s: options.heartbeatSeconds ?? advice.heartbeat_s,
    }),
    fallAsleep: (server, { heartbeat_s: heartbeatSeconds }) => {
      const { host, port } = addressOf(server);
      const localAddress = sourceAddress(number, devices, host);
      const { tls } = options.sleep;
      const given = { ...device, wakeMode, heartbeatSeconds, host, tls, localAddress };
      return reached(`sleep server ${server}`, SleepingModule.connect(port, given));
    },
  };
}

/** A failure to connect is told with the server's address; a refusal by the server says enough. */
function reached<Connection>(address: string, connecting: Promise<Connection>): Promise<Connection> {
  return connecting.catch((error: Error) => {
    throw isRefusal(error) ? error : new ConnectionFailedError(address, error);
  });
}

export function addressOf(server: string): { readonly host: string; readonly port: number } {
  const address = parseListenAddress(reachableAddress(server));
  if (address === null) throw new Error(`${server} is no sleep server: expected host:port`);
  return address;
}
