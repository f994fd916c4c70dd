/** The advice to every controller for its low-power module. Source: signal-wire.md, welcome. */
import type { SleepAdvice } from '../../protocol/signal/server-message.ts';
import { encodeWakePacket } from '../../protocol/sleep/wake-packet.ts';

const wakeupPacket = encodeWakePacket(null).toString('hex');
/** The packet without the two bytes of custom data. */
const wakePattern = wakeupPacket.slice(0, -4);

/** `servers`: `host:port`, in the order to try. */
export function sleepAdvice(servers: readonly string[]): SleepAdvice {
  return {
    servers,
    heartbeatSeconds: 50,
    heartbeatBytes: 64,
    wakePattern,
    wakeupPacket,
    retry: { minSeconds: 2, maxSeconds: 300, jitter: 0.5 },
  };
}
