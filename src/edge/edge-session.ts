/** A session at an edge. It is also the ticket that the listener keeps, so that a sleeping module costs one object, not two. */
import type { SessionTicket, SleepConnection } from '../core/ports/device-sessions.ts';
import type { DeviceId, SessionId } from '../model/ids.ts';
import type { SleepEndReason, WakeMode } from '../model/sleep.ts';
import type { BroughtSession } from '../protocol/edge-link/edge-message.ts';
import type { LoginQuestion } from './waiting-logins.ts';

const unknown = -1;

export class EdgeSession implements SessionTicket {
  readonly number: number;
  readonly connection: SleepConnection;
  readonly deviceId: DeviceId;
  readonly wakeMode: WakeMode;
  sessionId: SessionId;
  epoch: number;
  secretMark: number;
  /** Latest heartbeat reported to the core, Unix seconds. 0: none; -1: the core does not know the session. */
  reportedAt = 0;

  constructor(
    number: number,
    { login, connection }: LoginQuestion,
    sessionId: SessionId,
    epoch: number,
    secretMark: number,
  ) {
    this.number = number;
    this.connection = connection;
    this.deviceId = login.deviceId;
    this.wakeMode = login.wakeMode;
    this.sessionId = sessionId;
    this.epoch = epoch;
    this.secretMark = secretMark;
  }

  get isKnown(): boolean {
    return this.reportedAt !== unknown;
  }

  /** Marks it as unknown to the core: the link has ended. */
  forget(): void {
    this.reportedAt = unknown;
  }

  renew(sessionId: SessionId, epoch: number, secretMark: number): void {
    this.sessionId = sessionId;
    this.epoch = epoch;
    this.secretMark = secretMark;
  }

  describe(lastHeartbeatAt: number, endedBy: SleepEndReason | null): BroughtSession {
    const { number, deviceId, sessionId, epoch, wakeMode, secretMark } = this;
    return { number, deviceId, sessionId, epoch, wakeMode, secretMark, lastHeartbeatAt, endedBy };
  }
}
