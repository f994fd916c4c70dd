/**
 * Messages of the server to a controller: JSON text, its fields in the order of the page. Source: signal-wire.md.
 */
import type { DeviceMessage } from '../../model/signal.ts';

/** What a controller hands to its low-power module before it sleeps. */
export interface SleepAdvice {
  /** `host:port`, in the order to try. */
  readonly servers: readonly string[];
  readonly heartbeatSeconds: number;
  readonly heartbeatBytes: number;
  /** Hex. */
  readonly wakePattern: string;
  readonly wakeupPacket: string;
  readonly retry: {
    readonly minSeconds: number;
    readonly maxSeconds: number;
    /** 0 to 1: the part of a wait that is random. */
    readonly jitter: number;
  };
}

export interface Welcome {
  readonly epoch: number;
  readonly heartbeatSeconds: number;
  /** Whole Unix seconds. */
  readonly serverTime: number;
  readonly sleep: SleepAdvice;
  /** Where the legs of calls connect: `ws://host:port` or `wss://host:port`; null: not known. */
  readonly mediaUrl: string | null;
}

export function encodeChallenge(sessionKey: string): string {
  return `{"type":"challenge","session_key":"${sessionKey}"}`;
}

export function encodeWelcome({ epoch, heartbeatSeconds, serverTime, sleep, mediaUrl }: Welcome): string {
  return JSON.stringify({
    type: 'welcome',
    epoch,
    heartbeat_s: heartbeatSeconds,
    server_time: serverTime,
    sleep: {
      servers: sleep.servers,
      heartbeat_s: sleep.heartbeatSeconds,
      heartbeat_bytes: sleep.heartbeatBytes,
      wake_pattern: sleep.wakePattern,
      wakeup_packet: sleep.wakeupPacket,
      retry: {
        min_s: sleep.retry.minSeconds,
        max_s: sleep.retry.maxSeconds,
        jitter: sleep.retry.jitter,
      },
    },
    ...(mediaUrl !== null && { media: { url: mediaUrl } }),
  });
}

let ackTime = -1;
let ack = '';

/** `serverTime`: whole Unix seconds. All that are answered in one second read the same text. */
export function encodeHeartbeatAck(serverTime: number): string {
  if (serverTime !== ackTime) {
    ackTime = serverTime;
    ack = `{"type":"heartbeat_ack","server_time":${serverTime}}`;
  }
  return ack;
}

export function encodeMessage({ id, name, payload }: DeviceMessage): string {
  return JSON.stringify({ type: 'message', id, name, payload });
}

/** `reason`: a word of ours, letters and underscores. */
export function encodeBye(reason: string): string {
  return `{"type":"bye","reason":"${reason}"}`;
}

/** How the server ends a connection: the close code, and the word in `bye` and in the close frame. Source: signal-wire.md, Close codes. */
export interface SignalClose {
  readonly code: number;
  readonly reason: string;
}

export const signalCloses = {
  bye: { code: 1000, reason: 'bye' },
  tooLarge: { code: 1009, reason: 'too_large' },
  malformed: { code: 4400, reason: 'malformed' },
  denied: { code: 4401, reason: 'denied' },
  loginTimeout: { code: 4408, reason: 'timeout' },
  heartbeatTimeout: { code: 4408, reason: 'heartbeat_timeout' },
  replaced: { code: 4409, reason: 'replaced' },
  kicked: { code: 4410, reason: 'kicked' },
  flood: { code: 4429, reason: 'flood' },
  draining: { code: 4503, reason: 'draining' },
  busy: { code: 4503, reason: 'busy' },
} as const satisfies Record<string, SignalClose>;
