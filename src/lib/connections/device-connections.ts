/**
 * The parts that the sleep and the signal listener share: connections before their login and with a session, each kind
 * on a wheel by its deadlines; how they are drained and cut at the end; and the log line about logins that cannot be
 * verified. Source: running.md, Stopping.
 */
import type { Clock } from '../clock.ts';
import { Throttle } from '../throttle.ts';
import { Crowd } from './crowd.ts';
import { DeadlineWheel, drain, type WheelEntry } from '../deadline-wheel.ts';
import type { Log } from '../log.ts';

/** A connection before its login is accepted. */
export interface PendingConnection extends WheelEntry {
  expire(): void;
  /** Refuses it as `busy`, because the listener goes away. */
  turnAway(): void;
  /** Closes it without a reply, counted as `busy`, because a newcomer needs its place. */
  evict(): void;
  /** Closes it without a reply, uncounted. */
  drop(): void;
}

/** A connection with a session. */
export interface OpenConnection<EndReason extends string> extends WheelEntry {
  expire(): void;
  /** Ends the session and notifies its owner. */
  end(reason: EndReason | 'drain'): void;
  /** Cuts the connection and notifies nobody. */
  drop(): void;
}

/** What every connection of a listener shares: one object, made by the listener. */
export interface DeviceListenerContext<Settings, Sessions, EndReason extends string> {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly log: Log;
  /** Each holds the live connections of its kind, by deadline. */
  readonly pending: DeadlineWheel<PendingConnection>;
  /** The same as are pending. */
  readonly unproved: Crowd<PendingConnection>;
  readonly openConnections: DeadlineWheel<OpenConnection<EndReason>>;
  /** Another session may be opened, with the sockets that others hold. */
  hasRoom(): boolean;
  /** Logs that logins cannot be verified or stored, at most once a second. */
  reportFailure(error: unknown): void;
}

/** Half a second: a deadline is noticed within two ticks, so within the 2 s it may be late, with room to spare. */
export const deviceTickMs = 500;
/** The event loop was busy for so long that heartbeats may wait in the sockets. */
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

  /** `failure`: what is logged when a login cannot be verified. */
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
   * Refuses logins under way, and ends sessions at the rate. What is left after `deadlineMs` stays as it is, for the
   * kernel to close with the process; resolves with its number.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    for (const connection of this.pending.pick(Infinity)) connection.turnAway();
    return drain(this.openConnections, this.#clock, ratePerSecond, deadlineMs, (connection) =>
      connection.end('drain'),
    );
  }

  /** Closes every socket that is left, and notifies nobody. */
  drop(): void {
    for (const connection of [...this.pending.pick(Infinity), ...this.openConnections.pick(Infinity)])
      connection.drop();
  }

  readonly reportFailure = (error: unknown): void => {
    if (this.#failures.pass()) this.#log.error({ error: String(error) }, this.#failure);
  };
}
