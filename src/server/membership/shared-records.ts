/** What there is of records only where several processes write the store. Source: cluster.md. */
import type { MemberId } from '../../model/cluster.ts';
import type { SlotFollower } from '../../core/ports/slot-follower.ts';
import type { SessionLocator } from '../../core/ports/session-locator.ts';
import type { EventStore } from '../../storage/events/event-store.ts';
import type { Journal } from '../../storage/journal/journal.ts';
import { LostSessions } from '../../storage/journal/lost-sessions.ts';
import type { SharedCommitter } from '../../storage/journal/shared-committer.ts';
import { SharedSessionLocator } from '../../storage/journal/shared-session-locator.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';

export interface SharedRecords {
  readonly locator: SessionLocator;
  /** Told of this process's sessions right after a commit, before who follows events. One at most. */
  follow(slots: SlotFollower): void;
  /** Another process says that the log grew. Never throws. */
  refresh(): void;
  /** Ends as `node_lost`, at `atMs` wall milliseconds, what processes that are gone left open; resolves to how many. */
  closeSessionsOf(isGone: (member: MemberId) => boolean, atMs: number): Promise<number>;
}

export interface SharedRecordsDeps {
  readonly state: StateTables;
  readonly committer: SharedCommitter;
  readonly journal: Journal;
  readonly events: EventStore;
}

export function openSharedRecords(deps: SharedRecordsDeps): SharedRecords {
  const { state, committer, journal, events } = deps;
  const lost = new LostSessions(state, journal, committer.node);
  return {
    locator: new SharedSessionLocator(state),
    follow: (slots) => committer.follow(slots),
    refresh: () => events.refresh(),
    closeSessionsOf: (isGone, atMs) => lost.close(isGone, atMs),
  };
}
