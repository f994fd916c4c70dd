/** A sleeping module's TCP connection as its device's actor sees it. Made and owned by the sleep gateway. */
import type { CustomData, SleepEndReason, WakeWriteResult } from '../../model/sleep.ts';

export interface SleepConnection {
  /** Unix seconds of the latest heartbeat of this session; 0: none yet. */
  readonly lastHeartbeatAt: number;
  /**
   * Writes one wake packet of exactly 8 bytes as one TCP write, after earlier ones have left.
   * Resolves within the write deadline (1 s); never rejects.
   */
  wake(customData: CustomData): Promise<WakeWriteResult>;
  /** Ends the connection from our side. The owner is not told again: who closes already knows. */
  close(reason: SleepEndReason): void;
}
