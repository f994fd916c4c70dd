/** The core's view of a module's connection at an edge. It is also the session's ticket, so that one object is enough. */
import type { SessionTicket, SleepConnection } from '../core/ports/device-sessions.ts';
import type { DeviceId, SessionId } from '../model/ids.ts';
import type { CustomData, SleepEndReason, WakeWriteResult } from '../model/sleep.ts';

export interface LinkedConnectionOwner {
  /** Never rejects. */
  wake(connection: LinkedConnection, customData: CustomData): Promise<WakeWriteResult>;
  closed(connection: LinkedConnection, reason: SleepEndReason): void;
}

const refused: Promise<WakeWriteResult> = Promise.resolve('refused');

export class LinkedConnection implements SleepConnection, SessionTicket {
  readonly number: number;
  readonly deviceId: DeviceId;
  sessionId = '' as SessionId;
  epoch = 0;
  secretMark = 0;
  lastHeartbeatAt = 0;
  /** The reason, given by either side; null: open. */
  closedBy: SleepEndReason | null = null;
  readonly #owner: LinkedConnectionOwner;

  constructor(number: number, deviceId: DeviceId, owner: LinkedConnectionOwner) {
    this.number = number;
    this.deviceId = deviceId;
    this.#owner = owner;
  }

  get isOpen(): boolean {
    return this.closedBy === null;
  }

  admitted({ sessionId, epoch, secretMark }: SessionTicket): void {
    this.sessionId = sessionId;
    this.epoch = epoch;
    this.secretMark = secretMark;
  }

  wake(customData: CustomData): Promise<WakeWriteResult> {
    return this.isOpen ? this.#owner.wake(this, customData) : refused;
  }

  close(reason: SleepEndReason): void {
    if (!this.isOpen) return;
    this.closedBy = reason;
    this.#owner.closed(this, reason);
  }
}
