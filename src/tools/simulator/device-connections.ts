/**
 * The two connections of a simulated device, of its controller by WebSocket and its module by TCP. They perform the effects of
 * its state machine and report events to it. Results of abandoned attempts are closed without an event.
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

export type DeviceController = Pick<
  SignalController,
  'welcome' | 'closed' | 'heartbeat' | 'reportWake' | 'bye' | 'close'
>;

export type DeviceModule = Pick<SleepingModule, 'heartbeat' | 'nextPacket' | 'close'>;

/** Connects to the servers. Both methods reject with the server's refusal or the connection error. */
export interface DeviceEndpoints {
  readonly signIn: () => Promise<DeviceController>;
  /** Adapts the advice of the welcome to the options. */
  readonly advise: (advice: SleepAdvice) => SleepAdvice;
  readonly fallAsleep: (server: string, advice: SleepAdvice) => Promise<DeviceModule>;
}

export interface DeviceObserver {
  readonly onEvent: (event: DeviceEvent) => void;
  /** Called with every packet; a wake packet is also an event. */
  readonly onPacket: (packet: Buffer) => void;
  readonly onTrouble: (error: Error) => void;
}

export class DeviceConnections {
  readonly #endpoints: DeviceEndpoints;
  readonly #observer: DeviceObserver;
  #controller: DeviceController | null = null;
  #module: DeviceModule | null = null;
  /** Numbers of the latest attempts, by which late results of earlier ones are recognized. */
  #signalAttempt = 0;
  #sleepAttempt = 0;

  constructor(endpoints: DeviceEndpoints, observer: DeviceObserver) {
    this.#endpoints = endpoints;
    this.#observer = observer;
  }

  /** Heartbeat interval of the signal connection; null: not connected. */
  get signalHeartbeatMs(): number | null {
    return this.#controller === null ? null : this.#controller.welcome.heartbeat_s * 1000;
  }

  /** Sends a heartbeat on each open connection, and returns their number. */
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
      this.#observer.onEvent({ kind: 'signed-in', advice: this.#endpoints.advise(controller.welcome.sleep) });
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
      this.#observer.onEvent({ kind: 'fell-asleep' });
      while (attempt === this.#sleepAttempt) this.#handlePacket(await module.nextPacket(), attempt, advice);
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

  #handlePacket(packet: Buffer, attempt: number, advice: SleepAdvice): void {
    if (attempt !== this.#sleepAttempt) return;
    this.#observer.onPacket(packet);
    const bytes = packet.toString('hex');
    if (bytes.startsWith(advice.wake_pattern)) this.#observer.onEvent({ kind: 'woken' });
    else this.#observer.onTrouble(new Error(`not a wake packet: ${bytes}`));
  }

  #loseSignal(kind: 'signal-lost' | 'sign-in-failed', error: Error): void {
    this.#controller = null;
    this.#observer.onTrouble(error);
    this.#observer.onEvent({ kind });
  }

  #loseSleep(error: Error): void {
    const kind = this.#module === null ? 'sleep-failed' : 'sleep-lost';
    this.#module = null;
    this.#observer.onTrouble(error);
    this.#observer.onEvent({ kind });
  }
}

function leave(controller: DeviceController): void {
  void controller.bye('going to sleep');
  void controller.close();
}

export interface DeviceEndpointsOptions {
  readonly signalUrl: string | null;
  readonly signalTls: ConnectionOptions | undefined;
  /** Its address overrides the one assigned to the controllers. */
  readonly sleep: SleepServer;
  readonly wakeMode: WakeMode;
  /** Overrides the interval assigned to the controllers. */
  readonly heartbeatSeconds: number | undefined;
  /** Number of devices, which determines the number of source addresses. */
  readonly devices: number;
  readonly onMessage: () => void;
}

/** `number`: of the device, from 0. */
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

/** Adds the server's address to a connection error; a refusal needs none. */
function reached<Connection>(address: string, connecting: Promise<Connection>): Promise<Connection> {
  return connecting.catch((error: Error) => {
    throw isRefusal(error) ? error : new ConnectionFailedError(address, error);
  });
}

export function addressOf(server: string): { readonly host: string; readonly port: number } {
  const address = parseListenAddress(reachableAddress(server));
  if (address === null) throw new Error(`invalid sleep server ${server}: expected host:port`);
  return address;
}
