/**
 * The sleep and the signal gateway, and the core behind them: what a connection is to its device's actor, and what a
 * gateway asks: is this login admitted, and a session of yours is over.
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

/** Made and owned by its gateway. */
interface DeviceConnection<Reason> {
  /** Unix seconds of the latest heartbeat of this session; 0: none yet. */
  readonly lastHeartbeatAt: number;
  /** Ends the connection from our side. The owner is not told again: who closes already knows. */
  close(reason: Reason): void;
}

/** A sleeping module's TCP connection. */
export interface SleepConnection extends DeviceConnection<SleepEndReason> {
  /** False: its peer has hung up, or it is closed: an answer about it has no use any more. */
  readonly isOpen: boolean;
  /**
   * Writes one wake packet of exactly 8 bytes as one TCP write, after earlier ones have left.
   * Resolves within the write deadline (1 s); never rejects.
   */
  wake(customData: CustomData): Promise<WakeWriteResult>;
}

/** A controller's WebSocket. */
export interface SignalConnection extends DeviceConnection<SignalEndReason> {
  /** Sends the message and waits for its acknowledgement, 5 s; never rejects. */
  deliver(message: DeviceMessage): Promise<DeliveryResult>;
  /** Closes as kicked, with the word that its device may not be here any more. */
  deny(): void;
}

/** What a connection carries of its session: the end of one that is over changes nothing. */
export interface SessionTicket {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  /** As it was given at the login. */
  readonly epoch: number;
  /** The mark of the secret that the session was proven with: an edge keeps it for the core that comes back. */
  readonly secretMark: number;
}

/** The answer to a login. */
export type Admission = SessionTicket | 'denied' | 'busy';

/** A sleep session that an edge brings to a core: what the device's actor has to know and the store does not. */
export interface MovedSession {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly wakeMode: WakeMode;
  readonly secretMark: number;
}

interface DeviceSessions<Login, Connection, Reason, Answer> {
  /**
   * Checks proof, device, disabling and expiry in one time for all of them, claims the device for this
   * connection and closes the one it replaces. `hasRoom` false: only a login that replaces a session is admitted,
   * another is `busy`, and so is a device that logs in too fast. `address`: of the peer, asked only where it is needed;
   * empty: it is gone already. Throws when the registry or the device's record cannot be read.
   */
  admit(
    login: Login,
    sessionKey: string,
    connection: Connection,
    hasRoom: boolean,
    address: () => string,
  ): Answer;
  /** The connection is gone for a reason of the peer's or the gateway's own; not called after `close`. A late call changes nothing. */
  ended(ticket: SessionTicket, reason: Reason, lastHeartbeatAt: number): void;
}

type AnySleepAdmission = Admission | Promise<Admission>;

/**
 * Questions of the sleep gateway. An admission is a value where the core is in this process. Elsewhere it is a promise, which
 * never rejects and may stay open for as long as the core is away: the gateway's own deadline refuses that login as `busy`.
 */
export type SleepAdmissions<Answer extends AnySleepAdmission = AnySleepAdmission> = DeviceSessions<
  SleepLogin,
  SleepConnection,
  SleepEndReason,
  Answer
>;

/** Answers of the core to the holder of sleep connections, here or at an edge. */
export interface SleepSessions<
  Answer extends AnySleepAdmission = AnySleepAdmission,
> extends SleepAdmissions<Answer> {
  /**
   * A session that slept elsewhere is this connection's, with the same epoch and without an event. Null, and nothing has
   * changed: by the store it is over. Throws when the store cannot be read.
   */
  goOn(moved: MovedSession, connection: SleepConnection): SessionTicket | null;
  /**
   * A session that lives at an edge, and had to be called lost, or was admitted by a core that was killed before its commit,
   * becomes a login that is marked as recovered. A reason: the device has logged in since, or may not be here any more. Throws when the registry or the record cannot be read.
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
  /** The epoch that the device is to be told, once the login is committed; a value when it is. */
  committed(ticket: SessionTicket): number | Promise<number>;
  /** Of the device's product; null: there are none. Throws when the registry cannot be read. */
  defaultsFor(ticket: SessionTicket): ProductDefaults | null;
  wakeReported(ticket: SessionTicket, report: WakeReport): void;
  /** Nobody is answered. */
  callRejected(ticket: SessionTicket, rejection: CallRejection): void;
}
