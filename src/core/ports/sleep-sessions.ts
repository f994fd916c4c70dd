/** What the sleep gateway asks of the house: may this login in, and a session of yours is over. */
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { SleepEndReason, SleepLogin } from '../../model/sleep.ts';
import type { SleepConnection } from './sleep-connection.ts';

/** What a connection carries of its session; an event with an old epoch changes nothing. */
export interface SleepSessionTicket {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly epoch: number;
}

export interface SleepSessions {
  /**
   * Checks proof, device, disabling and expiry in one time for all of them, claims the device for this
   * connection and closes the one it replaces. `hasRoom` false: only a login that replaces a session may in,
   * another is `busy`. Throws when the registry cannot be read.
   */
  admit(
    login: SleepLogin,
    sessionKey: string,
    connection: SleepConnection,
    hasRoom: boolean,
  ): SleepSessionTicket | 'denied' | 'busy';
  /** The connection is gone for a reason of the peer's or the gateway's own; not called after `close` from the house. */
  ended(ticket: SleepSessionTicket, reason: SleepEndReason, lastHeartbeatAt: number): void;
}
