/**
 * How the journal brings a batch to where it survives, and what a batch is made of. Alone, a store is written by one
 * process (`LocalCommitter`); others have to agree with those who write beside them. Source: cluster.md.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { ProductId } from '../../model/ids.ts';
import type { Transition } from './transition.ts';

/** One write, as a committer sees it: handed over, so that what it says is fixed. */
export interface CommitEntry {
  readonly transition: Transition;
  /** What the device of its event was of when it happened; null: nothing, or there is no event. */
  readonly productId: ProductId | null;
  /** Puts what the entry says of the state, without its event. Inside a batch. Never throws. */
  put(): void;
}

export interface Committer {
  /**
   * All or nothing, in the order given: rejects when none of it is there, and is then handed the same array again,
   * unless `seen` was told. One call at a time. `seen` is told at most once and before the promise resolves, when what
   * was put is visible and proof against `kill -9`, though the disk may not have it; it may be left out. Both give the
   * events as they stand in the log.
   */
  commit(
    entries: readonly CommitEntry[],
    seen: (events: readonly LoggedEvent[]) => void,
  ): Promise<readonly LoggedEvent[]>;
}
