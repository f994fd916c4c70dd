/** What the process that plays the legs of calls can be asked. */
import type { LatencyReading } from './latency.ts';
import type { ClipFile } from './natural-clips.ts';

export const legsService = 'legs';

/** Each call sends so many. */
export const framesPerSecond = 15;
/** A picture that is not there when the next frame is due is late. */
export const frameMsMax = 66;

export interface LegsReading {
  readonly frames: number;
  /** Frames of which no picture came, though it was waited for. */
  readonly missing: number;
  /** From the frame's going out at the bridge leg to its picture at the device leg. */
  readonly latency: LatencyReading;
}

export type LegsProtocol = {
  /** What every call sends, over and over; gives the number of its frames. */
  load: { take: ClipFile; give: number };
  /**
   * So many more calls, each of a device of its own. Gives the sessions of all there are then; fewer came of it where the
   * media process had no room.
   */
  connect: {
    take: { httpPort: number; mediaPort: number; calls: number; hasSound: boolean };
    give: readonly string[];
  };
  /** All calls send for so many seconds, their frames evenly over the time, and go on where they stood. */
  play: { take: number; give: LegsReading };
};
