/** The log of what happened, as those see it who tell backends. Only what is committed is in it. */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';

export interface EventLog {
  /** The sequence of the newest committed event; 0: none yet. */
  readonly head: number;
  /** The sequence of the oldest event that is kept; `head + 1` when there is none. */
  readonly oldest: number;
  /**
   * Events behind `after` in the order of the log, at most `limit`, and none beyond the head. Synchronous: recent
   * ones come from memory, older ones from the memory map, about 3 µs each. Throws when the store cannot be read.
   */
  read(after: number, limit: number): readonly LoggedEvent[];
  /** The device's latest events that are kept, newest first, at most `recentEventsOfDeviceMax`. */
  recentOf(deviceId: DeviceId): readonly LoggedEvent[];
  /**
   * Calls `told` with every batch of events right after it is committed, in order; until the function returned is called.
   */
  follow(told: (events: readonly LoggedEvent[]) => void): () => void;
}
