/** The heartbeats of all signal controllers of one clock: one wheel and one timer, however many they are. */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { DeadlineWheel, type WheelEntry } from '../../lib/deadline-wheel.ts';

/** `deadlineMs`: of the next heartbeat. */
export interface HeartbeatEntry extends WheelEntry {
  readonly heartbeatMs: number;
  heartbeat(): void;
}

const tickMs = 250;
const byClock = new WeakMap<Clock, ControllerHeartbeats>();

export class ControllerHeartbeats {
  readonly #clock: Clock;
  readonly #wheel: DeadlineWheel<HeartbeatEntry>;
  #cancel: Cancel | null = null;

  private constructor(clock: Clock) {
    this.#clock = clock;
    this.#wheel = new DeadlineWheel(tickMs, clock.monotonicMs(), (entry) => this.#heartbeat(entry));
  }

  static of(clock: Clock): ControllerHeartbeats {
    let heartbeats = byClock.get(clock);
    if (heartbeats === undefined) {
      heartbeats = new ControllerHeartbeats(clock);
      byClock.set(clock, heartbeats);
    }
    return heartbeats;
  }

  add(entry: HeartbeatEntry): void {
    const nowMs = this.#clock.monotonicMs();
    // What stood still while nobody was on it is turned to now first.
    this.#wheel.turn(nowMs);
    entry.deadlineMs = nowMs + entry.heartbeatMs;
    this.#wheel.add(entry);
    this.#cancel ??= this.#clock.every(tickMs, () => this.#wheel.turn(this.#clock.monotonicMs()));
  }

  /** Does nothing to one that is not on the wheel. */
  remove(entry: HeartbeatEntry): void {
    this.#wheel.remove(entry);
    if (this.#wheel.size > 0) return;
    this.#cancel?.();
    this.#cancel = null;
  }

  #heartbeat(entry: HeartbeatEntry): void {
    entry.deadlineMs = this.#clock.monotonicMs() + entry.heartbeatMs;
    this.#wheel.add(entry);
    entry.heartbeat();
  }
}
