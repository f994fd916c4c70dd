/** The server's welcome as a controller reads it. Source: signal-wire.md. */
import type { Welcome } from '../../protocol/signal/server-message.ts';

export interface WireWelcome {
  readonly epoch: number;
  readonly heartbeat_s: number;
  readonly server_time: number;
  readonly sleep: {
    readonly servers: readonly string[];
    readonly heartbeat_s: number;
    readonly heartbeat_bytes: number;
    readonly wake_pattern: string;
    readonly wakeup_packet: string;
    readonly retry: { readonly min_s: number; readonly max_s: number; readonly jitter: number };
  };
}

export function readWelcome({ epoch, heartbeat_s, server_time, sleep }: WireWelcome): Welcome {
  const { min_s: minSeconds, max_s: maxSeconds, jitter } = sleep.retry;
  return {
    epoch,
    heartbeatSeconds: heartbeat_s,
    serverTime: server_time,
    sleep: {
      servers: sleep.servers,
      heartbeatSeconds: sleep.heartbeat_s,
      heartbeatBytes: sleep.heartbeat_bytes,
      wakePattern: sleep.wake_pattern,
      wakeupPacket: sleep.wakeup_packet,
      retry: { minSeconds, maxSeconds, jitter },
    },
  };
}
