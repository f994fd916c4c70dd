/** What every connection of the sleep port shares: one object, made by the listener. */
import type { SecureContext } from 'node:tls';
import type { Clock } from '../../lib/clock.ts';
import type { DeadlineWheel, WheelEntry } from '../../lib/deadline-wheel.ts';
import type { SleepEndReason } from '../../model/sleep.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SleepSessions } from '../../core/ports/sleep-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { Admission } from './admission.ts';
import type { SleepGatewaySettings } from './settings.ts';

/** A connection before its login is accepted. */
export interface PendingConnection extends WheelEntry {
  expire(): void;
  /** Refuses it as `busy`, whatever it is doing. */
  turnAway(): void;
  /** Closes it without a word or a count. */
  drop(): void;
}

/** A connection with a session. */
export interface OpenSleepConnection extends WheelEntry {
  expire(): void;
  /** Ends the session and tells the house. */
  end(reason: SleepEndReason): void;
  /** Closes the socket and tells nobody. */
  drop(): void;
}

export interface SleepListenerContext {
  readonly settings: SleepGatewaySettings;
  /** The setting, or what the process's limit allows. */
  readonly maxSessions: number;
  /** Another session may be opened, with the sockets that others hold. */
  hasRoom(): boolean;
  readonly clock: Clock;
  readonly sessions: SleepSessions;
  readonly telemetry: Telemetry;
  readonly log: Log;
  readonly admission: Admission;
  /** Each holds the live connections of its kind, by deadline. */
  readonly pending: DeadlineWheel<PendingConnection>;
  readonly openConnections: DeadlineWheel<OpenSleepConnection>;
  /** The certificate in force; null: plain TCP. Replaced by a reload. */
  secureContext: SecureContext | null;
  /** Tells the operator that logins cannot be judged, at most once a second. */
  reportAdmitFailure(error: unknown): void;
}
