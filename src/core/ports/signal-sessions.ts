/** What the signal gateway asks of the house: may this controller in, what it reports, and a session of yours is over. */
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { SignalEndReason, SignalLogin, WakeReport } from '../../model/signal.ts';
import type { SignalConnection } from './signal-connection.ts';

/** What a connection carries of its session; an event with an old epoch changes nothing. */
export interface SignalSessionTicket {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly epoch: number;
}

export interface SignalSessions {
  /**
   * Checks proof, device, disabling and expiry in one time for all of them, claims the device for this
   * connection and closes the one it replaces. `hasRoom` false: only a login that replaces a session may in,
   * another is `busy`. Throws when the registry cannot be read.
   */
  admit(
    login: SignalLogin,
    sessionKey: string,
    connection: SignalConnection,
    hasRoom: boolean,
  ): SignalSessionTicket | 'denied' | 'busy';
  /** The epoch that the device is to be told, once the login is committed; a value when it is. */
  committed(ticket: SignalSessionTicket): number | Promise<number>;
  wakeReported(ticket: SignalSessionTicket, report: WakeReport): void;
  /** The connection is gone for a reason of the peer's or the gateway's own; not called after `close` from the house. */
  ended(ticket: SignalSessionTicket, reason: SignalEndReason, lastHeartbeatAt: number): void;
}
