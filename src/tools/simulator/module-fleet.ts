/**
 * Many sleeping modules in one process. Each is on one wheel with its next heartbeat or its next attempt to log
 * in, so that a fleet of thousands costs one timer; logins go out at a bounded rate, whatever made them due.
 */
import { BoundedQueue } from '../../lib/queues.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { DeadlineWheel, type WheelEntry } from '../../lib/deadline-wheel.ts';
import { fullBucket, takeToken, waitForToken, type TokenBucket } from '../../lib/token-bucket.ts';
import type { WakeMode } from '../../model/sleep.ts';
import { retryDelayMs } from './simulated-device.ts';
import type { SimulatedDevice } from './simulated-devices.ts';
import { LoginRefused, type SleepingModule, type SleepingModuleOptions } from './sleeping-module.ts';

/** What a fleet needs of a module that is logged in. */
export type FleetModule = Pick<SleepingModule, 'heartbeat' | 'nextPacket' | 'close'>;

export interface FleetOptions {
  readonly wakeMode: WakeMode;
  readonly heartbeatSeconds: number;
  /** Logins begun per second. */
  readonly rampPerSecond: number;
}

export interface FleetDeps {
  readonly clock: Clock;
  /** Logs one module in; rejects with LoginRefused when the server says no. */
  readonly connect: (options: SleepingModuleOptions) => Promise<FleetModule>;
  /** The address that the device of this number comes from. */
  readonly addressOf: (number: number) => string | undefined;
  readonly onWake: (deviceId: string, packet: Buffer) => void;
  /** A login that was refused or broke off, or a session that ended. */
  readonly onTrouble: (deviceId: string, error: Error) => void;
}

/** Counts since the start; `online` is now. */
export interface FleetTally {
  online: number;
  logins: number;
  refused: number;
  errors: number;
  heartbeats: number;
  wakes: number;
}

class Member implements WheelEntry {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  module: FleetModule | null = null;
  failures = 0;
  readonly device: SimulatedDevice;
  readonly number: number;

  constructor(device: SimulatedDevice, number: number) {
    this.device = device;
    this.number = number;
  }
}

const tickMs = 100;

export class ModuleFleet {
  readonly tally: FleetTally = { online: 0, logins: 0, refused: 0, errors: 0, heartbeats: 0, wakes: 0 };
  readonly #options: FleetOptions;
  readonly #deps: FleetDeps;
  readonly #members: readonly Member[];
  readonly #due: BoundedQueue<Member>;
  readonly #wheel: DeadlineWheel<Member>;
  readonly #rate: { readonly perSecond: number; readonly burst: number };
  readonly #bucket: TokenBucket;
  #cancelTick: Cancel | null = null;

  constructor(devices: readonly SimulatedDevice[], options: FleetOptions, deps: FleetDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#members = devices.map((device, number) => new Member(device, number));
    this.#due = new BoundedQueue(devices.length);
    const nowMs = deps.clock.monotonicMs();
    this.#wheel = new DeadlineWheel(tickMs, nowMs, (member) => this.#fallDue(member));
    const perTick = (options.rampPerSecond * tickMs) / 1000;
    this.#rate = { perSecond: options.rampPerSecond, burst: Math.max(1, perTick) };
    this.#bucket = fullBucket(this.#rate, nowMs);
  }

  get size(): number {
    return this.#members.length;
  }

  start(): void {
    for (const member of this.#members) this.#due.push(member);
    this.#cancelTick = this.#deps.clock.every(tickMs, () => this.#tick());
    this.#tick();
  }

  /** Hangs up all that are online; a login under way is hung up when it is through. */
  async stop(): Promise<void> {
    this.#cancelTick?.();
    this.#cancelTick = null;
    this.#due.clear();
    await Promise.all(this.#members.flatMap(({ module }) => (module === null ? [] : [module.close()])));
  }

  #tick(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#wheel.turn(nowMs);
    while (this.#due.length > 0 && waitForToken(this.#bucket, this.#rate, nowMs) === 0) {
      takeToken(this.#bucket);
      const member = this.#due.shift();
      if (member !== undefined) void this.#login(member);
    }
  }

  #fallDue(member: Member): void {
    if (member.module === null) {
      this.#due.push(member);
      return;
    }
    member.module.heartbeat();
    this.tally.heartbeats += 1;
    this.#wait(member, this.#options.heartbeatSeconds * 1000);
  }

  async #login(member: Member): Promise<void> {
    const { wakeMode, heartbeatSeconds } = this.#options;
    const localAddress = this.#deps.addressOf(member.number);
    const source = localAddress === undefined ? {} : { localAddress };
    try {
      const module = await this.#deps.connect({ ...member.device, wakeMode, heartbeatSeconds, ...source });
      this.#comeOnline(member, module);
      await this.#readPackets(member.device.deviceId, module);
    } catch (error) {
      this.#goOffline(member, error as Error);
    }
  }

  #comeOnline(member: Member, module: FleetModule): void {
    if (this.#cancelTick === null) return void module.close();
    member.module = module;
    member.failures = 0;
    this.tally.logins += 1;
    this.tally.online += 1;
    this.#wait(member, this.#options.heartbeatSeconds * 1000);
  }

  /** Ends with the connection, by an error. */
  async #readPackets(deviceId: string, module: FleetModule): Promise<never> {
    for (;;) {
      const packet = await module.nextPacket();
      this.tally.wakes += 1;
      this.#deps.onWake(deviceId, packet);
    }
  }

  #goOffline(member: Member, error: Error): void {
    if (member.module !== null) this.tally.online -= 1;
    member.module = null;
    this.#wheel.remove(member);
    if (this.#cancelTick === null) return;
    if (error instanceof LoginRefused) this.tally.refused += 1;
    else this.tally.errors += 1;
    this.#deps.onTrouble(member.device.deviceId, error);
    member.failures += 1;
    this.#wait(member, retryDelayMs(member.failures, Math.random()));
  }

  #wait(member: Member, delayMs: number): void {
    member.deadlineMs = this.#deps.clock.monotonicMs() + delayMs;
    this.#wheel.add(member);
  }
}
