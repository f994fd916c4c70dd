/** Messages of the server to a controller: JSON text, its fields in the order of the page. Source: signal-wire.md. */
import type { SleepRetry } from '../../model/product-defaults.ts';
import type { DeviceMessage } from '../../model/signal.ts';

/** Advice that a controller passes to its low-power module before it sleeps; fields are those of the wire, here and below. */
export interface SleepAdvice {
  /** `host:port`, in the order to try. */
  readonly servers: readonly string[];
  readonly heartbeat_s: number;
  readonly heartbeat_bytes: number;
  /** Hex. */
  readonly wake_pattern: string;
  readonly wakeup_packet: string;
  readonly retry: SleepRetry;
}

export interface Welcome {
  readonly epoch: number;
  readonly heartbeat_s: number;
  /** Whole Unix seconds. */
  readonly server_time: number;
  readonly sleep: SleepAdvice;
  /** Address of the media listener, for legs of calls: `ws://host:port` or `wss://host:port`; absent: unknown. */
  readonly media?: { readonly url: string };
}

export function encodeChallenge(sessionKey: string): string {
  return `{"type":"challenge","session_key":"${sessionKey}"}`;
}

export function encodeWelcome(welcome: Welcome): string {
  return JSON.stringify({ type: 'welcome', ...welcome });
}

let ackTime = -1;
let ack = '';

/** `serverTime`: whole Unix seconds. The text is cached for the second. */
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

/** `reason`: one of the server's words, letters and underscores. */
export function encodeBye(reason: string): string {
  return `{"type":"bye","reason":"${reason}"}`;
}

/**
 * The end of a connection by the server: the close code, and the word in `bye` and in the close frame. Source: signal-wire.md,
 * Close codes.
 */
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
