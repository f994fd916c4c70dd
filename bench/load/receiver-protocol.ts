/** What the process that receives webhooks can be asked. */
import type { LatencyReading } from './latency.ts';

export const receiverService = 'receiver';

export interface ReceiverReading {
  /** From an event's birth to its whole body here, first deliveries since `reset`. */
  readonly latency: LatencyReading;
  /** Different events since the process began. */
  readonly received: number;
  /** Deliveries of what had come before. */
  readonly repeats: number;
  /** Bodies that are none of these events. */
  readonly strange: number;
}

export type ReceiverProtocol = {
  /** Gives the port. */
  listen: { take: null; give: number };
  /** Latencies begin anew; what has come is still known. */
  reset: { take: null; give: null };
  /** When so many different events have come, or when that has taken too long. */
  read: { take: number; give: ReceiverReading };
};
