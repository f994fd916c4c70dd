/**
 * The two connections of one simulated device: they are opened and closed as its machine says, and tell it what
 * becomes of them. What comes of an attempt or a connection that was given up is closed, and nobody hears of it.
 */
import type { WakeCause } from '../../model/signal.ts';
import type { SleepAdvice } from '../../protocol/signal/server-message.ts';
import type { DeviceEvent } from './simulated-device.ts';
import type { SleepingModule } from './sleeping-module.ts';

/** What a device needs of a controller that is signed in. */
export interface DeviceController {
  readonly advice: SleepAdvice;
  /** How often it is to send. */
  readonly heartbeatMs: number;
  /** Resolves when the connection is gone, to what is said of that. */
  readonly closed: Promise<string>;
  heartbeat(): void;
  reportWake(cause: WakeCause): void;
  /** Says goodbye and closes. */
  leave(): void;
}

/** What a device needs of a module that is logged in. */
export type DeviceModule = Pick<SleepingModule, 'heartbeat' | 'nextPacket' | 'close'>;

/** The way out to the servers. Both reject with what the server, or the way to it, said against. */
export interface DeviceEndpoints {
  readonly signIn: () => Promise<DeviceController>;
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

  /** Of the signal connection; null: there is none. */
  get signalHeartbeatMs(): number | null {
    return this.#controller?.heartbeatMs ?? null;
  }

  /** How many were sent: one on each connection that is open. */
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
      if (attempt !== this.#signalAttempt) return controller.leave();
      this.#controller = controller;
      this.#ears.happened({ kind: 'signed-in', advice: controller.advice });
      const reason = await controller.closed;
      if (attempt === this.#signalAttempt) this.#loseSignal('signal-lost', new Error(reason));
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
    this.#controller?.leave();
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
    if (bytes.startsWith(advice.wakePattern)) this.#ears.happened({ kind: 'woken' });
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
