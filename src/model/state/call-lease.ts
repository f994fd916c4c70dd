/**
 * The lease of a live call session: its duration, the news that renews it in each state, and the reason when it expires.
 * Durations only: the caller adds them to its monotonic clock. Source: calls-and-media.md, Call sessions and call status.
 */
import type { AliveSign, CallEndReason, CallSession, LiveCallState } from '../call.ts';
import { callIssuedGraceS, connectedLeaseMs, establishingLeaseMs, ringingGraceMs } from '../limits.ts';

/** `first-connect`: a device, or a bridge, connects for the first time. */
type News = AliveSign | 'report' | 'first-connect';

interface Lease {
  readonly renewedBy: Readonly<Record<News, boolean>>;
  readonly endsAs: CallEndReason;
}

const byNothing = { media: false, ping: false, report: false, 'first-connect': false };

const leases: Readonly<Record<LiveCallState, Lease>> = {
  issued: { renewedBy: byNothing, endsAs: 'timeout' },
  establishing: {
    renewedBy: { media: true, ping: false, report: true, 'first-connect': true },
    endsAs: 'lost',
  },
  ringing: { renewedBy: byNothing, endsAs: 'timeout' },
  attempting: { renewedBy: byNothing, endsAs: 'timeout' },
  connected: {
    renewedBy: { media: true, ping: true, report: true, 'first-connect': false },
    endsAs: 'lost',
  },
};

export function wholeLeaseMs({ state, callingTimeoutS }: CallSession): number {
  switch (state) {
    case 'issued':
      return (callingTimeoutS + callIssuedGraceS) * 1000;
    case 'establishing':
      return establishingLeaseMs;
    case 'ringing':
    case 'attempting':
      return callingTimeoutS * 1000 + ringingGraceMs;
    case 'connected':
      return connectedLeaseMs;
  }
}

/** Milliseconds from now until the lease expires after this news; null: unchanged. */
export function renewedLeaseMs(session: CallSession, by: News): number | null {
  return leases[session.state].renewedBy[by] ? wholeLeaseMs(session) : null;
}

/**
 * Remaining milliseconds, 0 to the whole lease, of a session known only by its record. Time since issuance or ringing is
 * measured by the wall clock; other leases restart.
 */
export function leftLeaseMs(session: CallSession, wallMs: number): number {
  const wholeMs = wholeLeaseMs(session);
  switch (session.state) {
    case 'issued':
      return clamp(session.expiresAtMs - wallMs, wholeMs);
    case 'ringing':
    case 'attempting':
      return clamp((session.ringsFromMs ?? wallMs) + wholeMs - wallMs, wholeMs);
    case 'establishing':
    case 'connected':
      return wholeMs;
  }
}

export function leaseEndReason(state: LiveCallState): CallEndReason {
  return leases[state].endsAs;
}

function clamp(leftMs: number, wholeMs: number): number {
  return Math.min(Math.max(0, leftMs), wholeMs);
}
