/**
 * One live call session as a pure state machine: from the session and an input it computes the next session, the state change
 * and the lease. No legs, no store, no clock: wall time comes in, a duration goes out.
 *
 * Invariants, checked by random walks:
 *  1. States may be skipped but never return; a report of the present or an earlier state changes nothing.
 *  2. Ringing and attempting share one lease, which begins with the first of them and is never extended.
 *  3. A session leaves `issued` once and ends once.
 *  4. A connected call can no longer be rejected.
 *
 * Source: calls-and-media.md, Call sessions and call status.
 */
import {
  callStates,
  type CallChange,
  type CallEndReason,
  type CallReport,
  type CallSession,
  type CallState,
  type LiveCallState,
  type RejectionReason,
} from '../call.ts';
import type { TokenId } from '../ids.ts';
import { connectedTokensMax } from '../limits.ts';
import { leaseEndReason, renewedLeaseMs, wholeLeaseMs } from './call-lease.ts';
import type { EventDraft } from '../events.ts';

export type CallInput =
  /** A leg connected, for the first time or again. */
  | { readonly kind: 'device-connected'; readonly tokenId: TokenId }
  | { readonly kind: 'bridge-connected' }
  | { readonly kind: 'reported'; readonly report: CallReport }
  /** By a controller that did not join; a connected call is unaffected. */
  | { readonly kind: 'rejected'; readonly reason: RejectionReason }
  | { readonly kind: 'lease-ended' }
  | { readonly kind: 'ended'; readonly reason: CallEndReason };

export interface CallStep {
  /** The session now; of an ended one, its last value. The same object: nothing to store. */
  readonly session: CallSession;
  readonly change: CallChange | null;
  /** Milliseconds from now until its lease expires; null: unchanged. */
  readonly leaseMs: number | null;
}

/** `atMs`: wall milliseconds, for stamps only. */
export function reduceCall(session: CallSession, input: CallInput, atMs: number): CallStep {
  switch (input.kind) {
    case 'device-connected':
      return connected(session, withDevice(session, input.tokenId), !session.hasSeenDevice, atMs);
    case 'bridge-connected':
      return connected(session, withBridge(session), !session.hasSeenBridge, atMs);
    case 'reported':
      return reported(session, input.report, atMs);
    case 'rejected':
      return rejected(session, input.reason, atMs);
    case 'lease-ended':
      return ended(session, leaseEndReason(session.state), atMs);
    case 'ended':
      return ended(session, input.reason, atMs);
  }
}

function connected(before: CallSession, session: CallSession, isFirst: boolean, atMs: number): CallStep {
  if (before.state === 'issued') return moved(session, 'establishing', atMs);
  const leaseMs = isFirst ? renewedLeaseMs(session, 'first-connect') : null;
  return { session, change: null, leaseMs };
}

function withDevice(session: CallSession, tokenId: TokenId): CallSession {
  const { connectedTokens } = session;
  if (session.hasSeenDevice && connectedTokens.at(-1) === tokenId) return session;
  const tokens = connectedTokens.filter((known) => known !== tokenId).concat(tokenId);
  return { ...session, hasSeenDevice: true, connectedTokens: tokens.slice(-connectedTokensMax) };
}

function withBridge(session: CallSession): CallSession {
  return session.hasSeenBridge ? session : { ...session, hasSeenBridge: true };
}

/** A report without a change still renews as a sign of life. */
function reported(session: CallSession, report: CallReport, atMs: number): CallStep {
  if (report.kind === 'end') return ended(session, report.reason, atMs);
  if (callStates.indexOf(report.state) > callStates.indexOf(session.state))
    return moved(session, report.state, atMs);
  return { session, change: null, leaseMs: renewedLeaseMs(session, 'report') };
}

function rejected(session: CallSession, reason: RejectionReason, atMs: number): CallStep {
  if (session.state === 'connected') return { session, change: null, leaseMs: null };
  return ended(session, reason, atMs);
}

function moved(before: CallSession, state: LiveCallState, atMs: number): CallStep {
  const beginsToRing = isRinging(state) && !isRinging(before.state);
  const session = { ...before, state, ringsFromMs: beginsToRing ? atMs : before.ringsFromMs };
  const leaseMs = isRinging(state) && !beginsToRing ? null : wholeLeaseMs(session);
  return { session, change: changeOf(before, state, null, atMs), leaseMs };
}

function isRinging(state: LiveCallState): boolean {
  return state === 'ringing' || state === 'attempting';
}

function ended(session: CallSession, reason: CallEndReason, atMs: number): CallStep {
  return { session, change: changeOf(session, 'ended', reason, atMs), leaseMs: null };
}

function changeOf(
  { sessionId, deviceId, state: from }: CallSession,
  state: CallState,
  reason: CallEndReason | null,
  atMs: number,
): CallChange {
  return { sessionId, deviceId, from, state, reason, atMs };
}

export function callEvent(change: CallChange): EventDraft {
  const { sessionId: session, deviceId, state, reason, atMs } = change;
  return { type: eventTypeOf(change), data: { session, state, reason }, deviceId, atMs, epoch: null };
}

function eventTypeOf({ from, state }: CallChange): 'call.started' | 'call.state' | 'call.ended' {
  if (state === 'ended') return 'call.ended';
  return from === 'issued' ? 'call.started' : 'call.state';
}
