/**
 * Commits what one of several processes hands over that write this store. One transaction of the store is the
 * compare-and-set: in it rows are read again, slots are taken and left by the rules that all share, and events get
 * their places behind those of the others. Source: cluster.md, Several processes on one machine.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { SlotFollower } from '../../core/ports/slot-follower.ts';
import type { CommitEntry, Committer } from './committer.ts';
import type { EventWriter, PlacedEvents } from '../events/event-writer.ts';
import { SharedBatch, type SlotNews, type SharedWriter } from './shared-batch.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

export interface SharedCommitterDeps extends SharedWriter {
  readonly events: EventWriter;
  /** This process has put events into the log: the others are to be told. Must not throw. */
  readonly grew: () => void;
}

type Seen = (events: readonly LoggedEvent[]) => void;

/** What stands in the store once its transaction is through. */
interface Landing {
  readonly placed: PlacedEvents;
  readonly news: readonly SlotNews[];
  readonly seen: Seen;
}

const noFollower: SlotFollower = { taken: () => undefined, lost: () => undefined };

export class SharedCommitter implements Committer {
  readonly #state: StateTables;
  readonly #deps: SharedCommitterDeps;
  #slots = noFollower;
  /** Put, and not yet told; null: nothing is under way, or it was told. */
  #landing: Landing | null = null;

  constructor(state: StateTables, deps: SharedCommitterDeps) {
    this.#state = state;
    this.#deps = deps;
  }

  /** Who is told what became of this process's sessions: right after the commit, before anybody else. One at most. */
  follow(slots: SlotFollower): void {
    this.#slots = slots;
  }

  async commit(entries: readonly CommitEntry[], seen: Seen): Promise<readonly LoggedEvent[]> {
    const { environment } = this.#state;
    const sight = { isVisible: () => this.#isVisible(), seen: () => this.#land() };
    try {
      const placed = await environment.transaction(() => this.#write(entries, seen), sight);
      this.#land();
      return placed.events;
    } catch (error) {
      environment.refresh();
      this.look();
      this.#landing = null;
      throw error;
    }
  }

  /** Tells of what is under way if it can be seen by now: before this process reads what others wrote behind it. */
  look(): void {
    if (this.#isVisible()) this.#land();
  }

  /** In the transaction: all is decided before anything is put. */
  #write(entries: readonly CommitEntry[], seen: Seen): PlacedEvents {
    const { events } = this.#deps;
    const batch = new SharedBatch(this.#state, this.#deps, entries);
    events.catchUp();
    const placed = events.place(batch.happened);
    batch.put();
    events.put(placed);
    this.#landing = { placed, news: batch.news, seen };
    return placed;
  }

  #isVisible(): boolean {
    return this.#landing !== null && this.#deps.events.isVisible(this.#landing.placed);
  }

  /** Once a batch: whose sessions they are hears first, then who follows events, then who waits. */
  #land(): void {
    if (this.#landing === null) return;
    const { placed, news, seen } = this.#landing;
    this.#landing = null;
    for (const { kind, slot } of news)
      if (kind === 'taken') this.#slots.taken(slot);
      else this.#slots.lost(slot);
    seen(placed.events);
    if (placed.events.length > 0) this.#deps.grew();
  }
}
