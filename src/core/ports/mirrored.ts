/** A member's local copy of shared state, so that it reads it here, also while the others are away. */
import type { Cancel } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';

/** The log of events. Its sequences are those of the shared one. */
export interface MirroredLog {
  /** The newest sequence that is here; 0: none yet. */
  readonly head: number;
  /**
   * Behind the head, ascending; those at or before it are passed over. Resolves when they are committed and told.
   * `isUnbroken`: what lies between the head and the first of them is no event; otherwise it is gone, and what is
   * kept from before it is forgotten. What is missing between two of them is no event.
   */
  append(events: readonly LoggedEvent[], isUnbroken?: boolean): Promise<void>;
}

/** One entry as it crosses: its kind and id as in the registry's tables, and its stored row as bytes; null: it is gone. */
export interface RegistryChange {
  readonly kind: string;
  readonly id: string;
  readonly row: Uint8Array | null;
}

/** One that stands in the shared registry, at a position of its own: of two of one entry the later counts. */
export interface SharedRegistryChange extends RegistryChange {
  readonly position: number;
}

/** A change made here, by its place, and the position that it was given in the shared registry. */
export interface SharedPlace {
  readonly place: number;
  readonly position: number;
}

export interface MirroredRegistry {
  /** The position in the shared registry up to which all is here; 0: nothing. */
  readonly position: number;
  /** All or nothing; what is kept of it elsewhere is the caller's to drop. */
  apply(changes: readonly SharedRegistryChange[], position: number): Promise<void>;
  /** Changes made here that are not yet shared, in their order. */
  unshared(limit: number): readonly { readonly place: number; readonly change: RegistryChange }[];
  shared(places: readonly SharedPlace[]): Promise<void>;
  /** Called after every change made here. */
  follow(told: () => void): Cancel;
}
