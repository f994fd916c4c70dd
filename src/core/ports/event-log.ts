/** The log of committed events, as event readers see it. */
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';

export interface EventLog {
  /** The sequence of the newest committed event; 0: none yet. */
  readonly head: number;
  /** The sequence of the oldest event that is kept; `head + 1` when there is none. */
  readonly oldest: number;
  /**
   * Events after `after` in log order, at most `limit`, none beyond the head. Synchronous: recent events come from memory, older
   * ones from the memory map, about 3 µs each. Throws when the store cannot be read.
   */
  read(after: number, limit: number): readonly LoggedEvent[];
  /** The device's latest retained events, newest first, at most `recentEventsOfDeviceMax`. */
  recentOf(deviceId: DeviceId): readonly LoggedEvent[];
  /** Calls `listener` with each batch of events right after its commit, in order, until cancelled by the returned function. */
  follow(listener: (events: readonly LoggedEvent[]) => void): () => void;
}
