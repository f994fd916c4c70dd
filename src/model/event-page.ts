/** Reading the log in pages, as one application sees it. Source: events.md, Reading. */
import type { LoggedEvent } from './events.ts';

/** Behind this sequence, at the oldest event that is kept, or behind the newest. */
export type EventsStart = number | 'oldest' | 'latest';

export interface EventPage {
  /** In the order of the log. */
  readonly events: readonly LoggedEvent[];
  /** The sequence of the last event that was looked at, whosever it was. */
  readonly next: number;
  /** True: events behind the cursor are no longer kept, or the log does not reach to it. */
  readonly truncated: boolean;
}
