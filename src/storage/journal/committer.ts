/**
 * How the journal brings a batch to where it survives, and how a store is committed that one process writes: others have to
 * agree with those who write beside them. Source: cluster.md.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { ProductId } from '../../model/ids.ts';
import { type Transition, eventOf } from './transition.ts';
import type { Sight } from '../lmdb/environment.ts';
import type { EventWriter, Happened, PlacedEvents } from '../events/event-writer.ts';

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

/**
 * Commits what `write` puts, all or nothing: it rejects when none of it is there. `sight` is told where it is
 * committed, and visible, before the disk has it, which the promise waits for.
 */
export type Batch = (write: () => void, sight: Sight | null) => Promise<void>;

/** Commits what the only process that writes this store hands over. */
export class LocalCommitter implements Committer {
  readonly #events: EventWriter;
  readonly #batch: Batch;
  #entries: readonly CommitEntry[] | null = null;
  /** Of `#entries`: a batch that is tried again keeps its places. */
  #placed: PlacedEvents | null = null;

  constructor(events: EventWriter, batch: Batch) {
    this.#events = events;
    this.#batch = batch;
  }

  async commit(
    entries: readonly CommitEntry[],
    seen: (events: readonly LoggedEvent[]) => void,
  ): Promise<readonly LoggedEvent[]> {
    const placed = this.#place(entries);
    const write = (): void => {
      for (const entry of entries) entry.put();
      this.#events.put(placed);
    };
    await this.#batch(write, this.#sightOf(placed, seen));
    this.#entries = this.#placed = null;
    return placed.events;
  }

  #place(entries: readonly CommitEntry[]): PlacedEvents {
    if (this.#placed !== null && this.#entries === entries) return this.#placed;
    this.#placed = this.#events.place(happenedIn(entries));
    this.#entries = entries;
    return this.#placed;
  }

  /** Nobody but who is told of events is in a hurry. */
  #sightOf(placed: PlacedEvents, seen: (events: readonly LoggedEvent[]) => void): Sight | null {
    if (placed.events.length === 0) return null;
    return { isVisible: () => this.#events.isVisible(placed), seen: () => seen(placed.events) };
  }
}

function happenedIn(entries: readonly CommitEntry[]): Happened[] {
  const happened: Happened[] = [];
  for (const { transition, productId } of entries) {
    const event = eventOf(transition);
    if (event !== null) happened.push({ event, productId });
  }
  return happened;
}
