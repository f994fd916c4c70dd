/**
 * Notices of accepted wakeups to everybody, gathered: a repeat finds the member that has accepted it by its device, and the
 * others may hear of it a moment later. Source: cluster.md, Route.
 */
import type { Clock } from '../../lib/clock.ts';
import { Gathered } from '../../lib/gathered.ts';
import type { AcceptedWakeup, PeerNotice } from '../../model/peer.ts';
import { noticesGatheredMax, noticesGatheredMs } from './notice-limits.ts';

/** `tell` must not throw. */
export function gatherAccepted(clock: Clock, tell: (notice: PeerNotice) => void): Gathered<AcceptedWakeup> {
  const limits = { ms: noticesGatheredMs, max: noticesGatheredMax };
  return new Gathered(clock, limits, (wakeups) => tell({ kind: 'wakeups-accepted', wakeups }));
}
