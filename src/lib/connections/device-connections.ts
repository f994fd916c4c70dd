/**
 * Parts that the sleep and the signal listener share: connections before login and with a session, each kind on a deadline
 * wheel; draining and closing them; and the log line about logins that cannot be verified. Source: running.md, Stopping.
 */
import type { Clock } from '../clock.ts';
import { Throttle } from '../throttle.ts';
import { Crowd } from './crowd.ts';
import { DeadlineWheel, drain, type WheelEntry } from '../collections/deadline-wheel.ts';
import type { Log } from '../log.ts';

export interface PendingConnection extends WheelEntry {
  expire(): void;
  /** Refuses it as `busy`: the listener is stopping. */
  turnAway(): void;
  /** Closes it without a reply, counted as `busy`: a newcomer needs its slot. */
  evict(): void;
  /** Closes it without a reply, uncounted. */
  drop(): void;
}

export interface OpenConnection<EndReason extends string> extends WheelEntry {
  expire(): void;
  /** Ends the session and notifies its owner. */
  end(reason: EndReason | 'drain'): void;
  /** Closes the connection without notifying anyone. */
  drop(): void;
}

export interface DeviceListenerContext<Settings, Sessions, EndReason extends string> {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly log: Log;
  readonly pending: DeadlineWheel<PendingConnection>;
  readonly unproved: Crowd<PendingConnection>;
  readonly openConnections: DeadlineWheel<OpenConnection<EndReason>>;
  /** True: another session may be opened, counting the sockets of other listeners. */
  hasRoom(): boolean;
  /** Logs that logins cannot be verified or stored, at most once a second. */
  reportFailure(error: unknown): void;
}

/** A deadline is noticed within two ticks (1 s); it may be late by 2 s. */
export const deviceTickMs = 500;
/** After a turn this late, unread heartbeats may wait in the sockets. */
const lateTurnMs = 2 * deviceTickMs;

export class DeviceConnections<EndReason extends string> {
  readonly pending: DeadlineWheel<PendingConnection>;
  readonly unproved = new Crowd<PendingConnection>();
  readonly openConnections: DeadlineWheel<OpenConnection<EndReason>>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #failure: string;
  readonly #failures: Throttle;
  #turnedMs: number;
  #wasLate = false;

  /** `failure`: the log line when a login cannot be verified. */
  constructor(clock: Clock, log: Log, failure: string) {
    const nowMs = clock.monotonicMs();
    this.#clock = clock;
    this.#turnedMs = nowMs;
    this.#log = log;
    this.#failure = failure;
    this.#failures = new Throttle(clock);
    this.pending = new DeadlineWheel(deviceTickMs, nowMs, (connection) => connection.expire());
    this.openConnections = new DeadlineWheel(deviceTickMs, nowMs, (connection) => connection.expire());
  }

  /** Call it every `deviceTickMs`. A late call expires nothing: the loop reads the sockets before the next one. */
  turn(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#wasLate = !this.#wasLate && nowMs - this.#turnedMs > lateTurnMs;
    this.#turnedMs = nowMs;
    if (this.#wasLate) return;
    this.pending.turn(nowMs);
    this.openConnections.turn(nowMs);
  }

  /**
   * Refuses pending logins, and ends sessions at the given rate. Resolves with the number of sessions left after `deadlineMs`;
   * the kernel closes them with the process.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    for (const connection of this.pending.pick(Infinity)) connection.turnAway();
    return drain(this.openConnections, this.#clock, ratePerSecond, deadlineMs, (connection) =>
      connection.end('drain'),
    );
  }

  drop(): void {
    for (const connection of [...this.pending.pick(Infinity), ...this.openConnections.pick(Infinity)])
      connection.drop();
  }

  readonly reportFailure = (error: unknown): void => {
    if (this.#failures.pass()) this.#log.error({ error: String(error) }, this.#failure);
  };
}
