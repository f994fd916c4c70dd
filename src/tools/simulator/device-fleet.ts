/**
 * Many simulated devices in one process. One deadline wheel holds the next action of each, a boot, a sleep or a heartbeat, so
 * that thousands of devices cost one timer. Logins start at a bounded rate, and at most one second's worth of them are pending.
 */
import { BoundedQueue } from '../../lib/collections/queues.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { DeadlineWheel, type WheelEntry } from '../../lib/collections/deadline-wheel.ts';
import {
  fullBucket,
  spendTokens,
  waitForToken,
  type Rate,
  type TokenBucket,
} from '../../lib/token-bucket.ts';
import { DeviceConnections, type DeviceEndpoints } from './device-connections.ts';
import { DeviceTally } from './fleet-tally.ts';
import {
  type DeviceEffect,
  type DeviceEvent,
  type DeviceHabits,
  type DeviceLife,
  type DeviceState,
} from './simulated-device.ts';
import type { SimulatedDevice } from './simulated-devices.ts';

export interface DeviceFleetOptions extends DeviceHabits {
  readonly life: DeviceLife;
  /** New logins per second, and maximum pending controller logins. */
  readonly rampPerSecond: number;
}

export interface DeviceFleetDeps {
  readonly clock: Clock;
  readonly random: () => number;
  /** `number`: from 0. */
  readonly endpointsOf: (device: SimulatedDevice, number: number) => DeviceEndpoints;
  readonly onWake: (deviceId: string, packet: Buffer) => void;
  /** Called when a woken device is online again; `tookMs`: since the wake packet. */
  readonly onAwake: (deviceId: string, tookMs: number) => void;
  /** Called on a refused or failed login, and on a lost connection. */
  readonly onTrouble: (deviceId: string, error: Error) => void;
}

class Member implements WheelEntry {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  heartbeatMs = Infinity;
  isInLine = false;
  state: DeviceState;
  readonly deviceId: string;
  readonly connections: DeviceConnections;

  constructor(deviceId: string, state: DeviceState, connectionsOf: (member: Member) => DeviceConnections) {
    this.deviceId = deviceId;
    this.state = state;
    this.connections = connectionsOf(this);
  }
}

const tickMs = 20;

export class DeviceFleet {
  readonly tally: DeviceTally;
  readonly #options: DeviceFleetOptions;
  readonly #deps: DeviceFleetDeps;
  readonly #members: readonly Member[];
  readonly #line: BoundedQueue<Member>;
  readonly #wheel: DeadlineWheel<Member>;
  readonly #rate: Rate;
  readonly #bucket: TokenBucket;
  #cancelTick: Cancel | null = null;

  constructor(devices: readonly SimulatedDevice[], options: DeviceFleetOptions, deps: DeviceFleetDeps) {
    this.#options = options;
    this.#deps = deps;
    this.tally = new DeviceTally(devices.length);
    const nowMs = deps.clock.monotonicMs();
    this.#members = devices.map((device, number) => {
      const onMs = nowMs + (number * 1000) / options.rampPerSecond;
      return new Member(device.deviceId, options.life.begin(onMs), (member) =>
        this.#connect(member, device, number),
      );
    });
    this.#line = new BoundedQueue(devices.length);
    this.#wheel = new DeadlineWheel(tickMs, nowMs, (member) => this.#onDeadline(member));
    const perTick = (options.rampPerSecond * tickMs) / 1000;
    this.#rate = { perSecond: options.rampPerSecond, burst: Math.max(1, perTick) };
    this.#bucket = fullBucket(this.#rate, nowMs);
  }

  start(): void {
    this.#cancelTick = this.#deps.clock.every(tickMs, () => this.#tick());
    for (const member of this.#members) this.#schedule(member);
  }

  /** Closes all connections; a pending attempt is closed when it completes. */
  stop(): void {
    this.#cancelTick?.();
    this.#cancelTick = null;
    this.#line.clear();
    for (const { connections } of this.#members) {
      connections.leaveSignal();
      connections.leaveSleep();
    }
  }

  /** Picks a random sleeping device; null: none. */
  pickAsleep(): string | null {
    const { length } = this.#members;
    const first = Math.floor(this.#deps.random() * length);
    for (let i = 0; i < length; i += 1) {
      const member = this.#members[(first + i) % length];
      if (member?.state.stage === 'asleep') return member.deviceId;
    }
    return null;
  }

  #connect(member: Member, device: SimulatedDevice, number: number): DeviceConnections {
    return new DeviceConnections(this.#deps.endpointsOf(device, number), {
      onEvent: (event) => this.#apply(member, event),
      onPacket: (packet) => {
        this.tally.wakes += 1;
        this.#deps.onWake(member.deviceId, packet);
      },
      onTrouble: (error) => this.#notifyTrouble(member, error),
    });
  }

  #tick(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#wheel.turn(nowMs);
    while (this.#line.length > 0 && this.#hasRoom() && waitForToken(this.#bucket, this.#rate, nowMs) === 0) {
      spendTokens(this.#bucket);
      const member = this.#line.shift();
      if (member === undefined) return;
      member.isInLine = false;
      this.#apply(member, { kind: 'due' });
    }
  }

  #hasRoom(): boolean {
    return this.tally.inStage('signing-in') < this.#options.rampPerSecond;
  }

  #onDeadline(member: Member): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (member.heartbeatMs <= nowMs) {
      this.tally.heartbeats += member.connections.heartbeat();
      member.heartbeatMs = nowMs + heartbeatIntervalMs(member);
    }
    if (member.state.untilMs > nowMs || member.isInLine) this.#schedule(member);
    else if (member.state.stage === 'booting') {
      member.isInLine = this.#line.push(member);
      this.#schedule(member);
    } else this.#endStage(member);
  }

  /** The deadline of a stage that awaits an answer means a timeout. */
  #endStage(member: Member): void {
    const { stage } = member.state;
    if (stage === 'signing-in' || stage === 'falling-asleep')
      this.#notifyTrouble(member, new Error(`${stage.replace('-', ' ')}: no answer in time`));
    this.#apply(member, { kind: 'due' });
  }

  #notifyTrouble({ deviceId }: Member, error: Error): void {
    if (this.#cancelTick === null) return;
    this.tally.countTrouble(error);
    this.#deps.onTrouble(deviceId, error);
  }

  #apply(member: Member, event: DeviceEvent): void {
    if (this.#cancelTick === null) return;
    const nowMs = this.#deps.clock.monotonicMs();
    const before = member.state;
    const now = { nowMs, random: this.#deps.random(), habits: this.#options };
    const { state, effects } = this.#options.life.reduce(before, event, now);
    member.state = state;
    for (const effect of effects) this.#perform(member, effect);
    if (state !== before) this.#enter(member, before, nowMs);
  }

  #enter(member: Member, before: DeviceState, nowMs: number): void {
    const { state } = member;
    this.tally.countStep(before.stage, state.stage);
    if (state.stage === 'online' || state.stage === 'asleep')
      member.heartbeatMs = nowMs + heartbeatIntervalMs(member);
    if (state.stage === 'online' && before.wokenMs !== null)
      this.#deps.onAwake(member.deviceId, nowMs - before.wokenMs);
    this.#schedule(member);
  }

  #perform({ connections, state }: Member, effect: DeviceEffect): void {
    switch (effect.kind) {
      case 'sign-in':
        return void connections.signIn();
      case 'log-in-to-sleep':
        return void (state.advice && connections.logIntoSleep(effect.server, state.advice));
      case 'report-wake':
        return connections.reportWake(effect.cause);
      case 'leave-signal':
        return connections.leaveSignal();
      case 'leave-sleep':
        return connections.leaveSleep();
    }
  }

  #schedule(member: Member): void {
    this.#wheel.remove(member);
    const untilMs = member.isInLine ? Infinity : member.state.untilMs;
    member.deadlineMs = Math.min(untilMs, member.heartbeatMs);
    this.#wheel.add(member);
  }
}

/** With both connections open, the shorter interval applies to both. */
function heartbeatIntervalMs({ connections, state }: Member): number {
  const sleepHeartbeatMs = (state.advice?.heartbeat_s ?? Infinity) * 1000;
  return Math.min(connections.signalHeartbeatMs ?? Infinity, sleepHeartbeatMs);
}
