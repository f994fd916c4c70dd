/** What every connection of the signal listener shares: one object, made by the listener. */
import type { Clock } from '../../lib/clock.ts';
import type { DeadlineWheel, WheelEntry } from '../../lib/deadline-wheel.ts';
import type { SignalEndReason } from '../../model/signal.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SignalSessions } from '../../core/ports/signal-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { SleepAdvice } from '../../protocol/signal/server-message.ts';
import type { SignalGatewaySettings } from './settings.ts';
import type { SocketCensus } from './socket-census.ts';

/** A connection before its login is accepted. */
export interface PendingConnection extends WheelEntry {
  expire(): void;
  /** Refuses it because the listener goes away. */
  turnAway(): void;
  /** Cuts it without a word or a count. */
  drop(): void;
}

/** A connection with a session. */
export interface OpenSignalConnection extends WheelEntry {
  expire(): void;
  /** Ends the session and tells the house. */
  end(reason: SignalEndReason): void;
  /** Cuts the connection and tells nobody. */
  drop(): void;
}

export interface SignalListenerContext {
  readonly settings: SignalGatewaySettings;
  readonly clock: Clock;
  readonly sessions: SignalSessions;
  readonly telemetry: Telemetry;
  readonly log: Log;
  readonly census: SocketCensus;
  /** Each holds the live connections of its kind, by deadline. */
  readonly pending: DeadlineWheel<PendingConnection>;
  readonly openConnections: DeadlineWheel<OpenSignalConnection>;
  /** Room for one more session. */
  hasRoom(): boolean;
  sleepAdvice(): SleepAdvice;
  /** Tells the operator that logins cannot be judged or told, at most once a second. */
  reportFailure(error: unknown): void;
}
