/** What a process that makes events at a fixed rate can be asked: ours, which appends them, and a peer that posts them. */

export const eventSourceService = 'events';

export type EventSourceProtocol = {
  /** From now on until `rest`, for so many devices in turn. */
  write: { take: { devices: number; ratePerSecond: number }; give: null };
  /** Gives how many there were since the process began; a log has committed them. */
  rest: { take: null; give: number };
};

export interface HeadReading {
  /** Sequence of the newest committed event. */
  readonly head: number;
  /** On the clock that all processes share. */
  readonly atMs: number;
}

/** Of a process with a log. */
export type WriterProtocol = EventSourceProtocol & { head: { take: null; give: HeadReading } };
