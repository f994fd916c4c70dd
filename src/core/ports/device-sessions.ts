/**
 * The port between the sleep and signal gateways and the core: connections as a device's actor sees them, and the gateways'
 * questions: is this login admitted, and a session has ended.
 */
import type { CallRejection } from '../../model/call.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { ProductDefaults } from '../../model/product-defaults.ts';
import type {
  DeliveryResult,
  DeviceMessage,
  SignalEndReason,
  SignalLogin,
  WakeReport,
} from '../../model/signal.ts';
import type { CustomData, SleepEndReason, SleepLogin, WakeMode, WakeWriteResult } from '../../model/sleep.ts';

interface DeviceConnection<Reason> {
  /** Unix seconds of the latest heartbeat of this session; 0: none yet. */
  readonly lastHeartbeatAt: number;
  /** Closes the connection. The session's owner is not notified: it is the caller. */
  close(reason: Reason): void;
}

export interface SleepConnection extends DeviceConnection<SleepEndReason> {
  /** False: the peer has hung up, or the connection is closed; an answer about it is useless. */
  readonly isOpen: boolean;
  /**
   * Writes one wake packet of exactly 8 bytes as one TCP write, after earlier ones. Resolves within the write deadline (1 s); never
   * rejects.
   */
  wake(customData: CustomData): Promise<WakeWriteResult>;
}

export interface SignalConnection extends DeviceConnection<SignalEndReason> {
  /** Sends the message and awaits its acknowledgement, 5 s; never rejects. */
  deliver(message: DeviceMessage): Promise<DeliveryResult>;
  /** Closes as kicked, with the message that the device is denied. */
  deny(): void;
}

/** A connection's reference to its session. The end of a session that is already over changes nothing. */
export interface SessionTicket {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly epoch: number;
  /** Mark of the secret that proved the login: an edge keeps it for the next core. */
  readonly secretMark: number;
}

export type Admission = SessionTicket | 'denied' | 'busy';

/** A sleep session that an edge hands over to a new core: the facts that the actor needs and the store lacks. */
export interface MovedSession {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly wakeMode: WakeMode;
  readonly secretMark: number;
}

interface DeviceSessions<Login, Connection, Reason, Answer> {
  /**
   * Checks proof, device, disabling and expiry in constant time, claims the device for this connection and closes the one it
   * replaces. `hasRoom` false: only a login that replaces a session is admitted; any other is `busy`, as is a device that logs in
   * too fast. `address`: the peer's, computed only when needed; empty: already gone. Throws when the registry or the device's
   * record cannot be read.
   */
  admit(
    login: Login,
    sessionKey: string,
    connection: Connection,
    hasRoom: boolean,
    address: () => string,
  ): Answer;
  /** The peer or the gateway ended the connection; not called after `close`. A late call changes nothing. */
  ended(ticket: SessionTicket, reason: Reason, lastHeartbeatAt: number): void;
}

type AnySleepAdmission = Admission | Promise<Admission>;

/**
 * Questions of the sleep gateway. The admission is a value if the core is in this process. Otherwise it is a promise that never
 * rejects and may stay pending while the core is down: the gateway's own deadline then refuses the login as `busy`.
 */
export type SleepAdmissions<Answer extends AnySleepAdmission = AnySleepAdmission> = DeviceSessions<
  SleepLogin,
  SleepConnection,
  SleepEndReason,
  Answer
>;

export interface SleepSessions<
  Answer extends AnySleepAdmission = AnySleepAdmission,
> extends SleepAdmissions<Answer> {
  /**
   * Adopts a session of an earlier core for this connection, with the same epoch and without an event. Null: the session is over
   * according to the store, and nothing has changed. Throws when the store cannot be read.
   */
  adopt(moved: MovedSession, connection: SleepConnection): SessionTicket | null;
  /**
   * Reopens a session that lives at an edge but was declared lost, or whose core was killed before it committed the login. It
   * becomes a login marked as recovered. A reason: the device has logged in since, or is no longer allowed. Throws when the
   * registry or the record cannot be read.
   */
  recover(
    lost: SessionTicket,
    wakeMode: WakeMode,
    connection: SleepConnection,
  ): SessionTicket | 'replaced' | 'kicked';
}

export interface SignalSessions extends DeviceSessions<
  SignalLogin,
  SignalConnection,
  SignalEndReason,
  Admission
> {
  /** The epoch to announce to the device once the login is committed; a value if it already is. */
  committed(ticket: SessionTicket): number | Promise<number>;
  /** Defaults of the device's product; null: none. Throws when the registry cannot be read. */
  defaultsFor(ticket: SessionTicket): ProductDefaults | null;
  wakeReported(ticket: SessionTicket, report: WakeReport): void;
  callRejected(ticket: SessionTicket, rejection: CallRejection): void;
}
