/** A member's local copy of shared state, readable also while the other members are unreachable. */
import type { Cancel } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';

/** Local copy of the event log, with the sequences of the shared one. */
export interface MirroredLog {
  /** The newest local sequence; 0: none yet. */
  readonly head: number;
  /**
   * Appends events in ascending order, and skips those at or before the head. Resolves once they are committed and followers are
   * notified. `isUnbroken`: no event is missing between the head and the first of them; false: the events before it are lost, and
   * the local ones are dropped. Gaps between two of them hold no event.
   */
  append(events: readonly LoggedEvent[], isUnbroken?: boolean): Promise<void>;
}

/** One entry in transfer: kind and id as in the registry's tables, and its stored row; null: deleted. */
export interface RegistryChange {
  readonly kind: string;
  readonly id: string;
  readonly row: Uint8Array | null;
}

/** A change in the shared registry, at its own position: the later of two changes of one entry wins. */
export interface SharedRegistryChange extends RegistryChange {
  readonly position: number;
}

/** A local change, by its place, and the position that the shared registry assigned to it. */
export interface SharedPlace {
  readonly place: number;
  readonly position: number;
}

export interface MirroredRegistry {
  /** Everything up to this position of the shared registry is applied here; 0: nothing. */
  readonly position: number;
  /** Applies all changes or none; the caller invalidates its caches. */
  apply(changes: readonly SharedRegistryChange[], position: number): Promise<void>;
  /** Local changes that are not yet shared, in order. */
  unshared(limit: number): readonly { readonly place: number; readonly change: RegistryChange }[];
  shared(places: readonly SharedPlace[]): Promise<void>;
  follow(listener: () => void): Cancel;
}
