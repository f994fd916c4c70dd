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
