/** A controller's WebSocket as its device's actor sees it. Made and owned by the signal gateway. */
import type { DeliveryResult, DeviceMessage, SignalEndReason } from '../../model/signal.ts';

export interface SignalConnection {
  /** Unix seconds of the latest heartbeat of this session; 0: none yet. */
  readonly lastHeartbeatAt: number;
  /** Sends the message and waits for its acknowledgement, 5 s; never rejects. */
  deliver(message: DeviceMessage): Promise<DeliveryResult>;
  /** Ends the connection from our side. The owner is not told again: who closes already knows. */
  close(reason: SignalEndReason): void;
  /** The same, kicked, with the word that its device may not be here any more. */
  deny(): void;
}
