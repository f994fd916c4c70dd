/**
 * Notices of accepted wakeups to everybody, gathered: a repeat finds the member that has accepted it by its device, and the
 * others may hear of it a moment later. Source: cluster.md, Route.
 */
import type { Clock } from '../../lib/clock.ts';
import { Gathered } from '../../lib/gathered.ts';
import type { AcceptedWakeup, PeerNotice } from '../../model/peer.ts';

/** Notices to every member may be late: this many go together, if each comes within this time of the last. */
export const noticesGathered = { max: 512, ms: 100 };

/** `tell` must not throw. */
export function gatherAccepted(clock: Clock, tell: (notice: PeerNotice) => void): Gathered<AcceptedWakeup> {
  return new Gathered(clock, noticesGathered, (wakeups) => tell({ kind: 'wakeups-accepted', wakeups }));
}
