/** What a process of modules, or of bridges, that come back together can be asked. */
import type { TroubleCount } from '../../src/tools/simulator/fleet-troubles.ts';
import type { RetryAdvice } from '../../src/tools/simulator/simulated-device.ts';

export const stormService = 'storm';

/** How they come back: again every second, or as they are advised, each by its own chance. */
export type Manner = 'at once' | 'as advised';

const everySecond: RetryAdvice = { minSeconds: 1, maxSeconds: 1, jitter: 0 };

/** Of modules the welcome's. */
export const moduleRetry: Readonly<Record<Manner, RetryAdvice>> = {
  'at once': everySecond,
  'as advised': { minSeconds: 2, maxSeconds: 300, jitter: 0.5 },
};

/** Source: docs/media-protocol.md, Closes. */
export const bridgeRetry: Readonly<Record<Manner, RetryAdvice>> = {
  'at once': everySecond,
  'as advised': { minSeconds: 0.5, maxSeconds: 30, jitter: 0.5 },
};

export interface StormFleet {
  /** Of the sleep listener, or of the media listener. */
  readonly port: number;
  /** The number of the first device. */
  readonly from: number;
  readonly count: number;
  /** Of all such processes together: it decides how many addresses they come from. */
  readonly devices: number;
  readonly manner: Manner;
  /** At which they come before there is a storm; of bridges: as soon as they can. */
  readonly calmPerSecond: number;
}

export type FailureReason = Pick<TroubleCount, 'reason' | 'count'>;

export interface ReturnReading {
  /** On the clock that all processes share: half of them are there, and all. */
  readonly halfMs: number;
  readonly allMs: number;
  /** Attempts since `mark` that were refused or broke off. */
  readonly failed: number;
  /** How many are there: fewer than all when that took too long. */
  readonly present: number;
  /** Why attempts failed, the most frequent reason first. */
  readonly reasons: readonly FailureReason[];
}

export type StormProtocol = {
  /** Answered when all are there. */
  start: { take: StormFleet; give: null };
  /** Answered when none is there any more; from then on they come back. */
  lost: { take: null; give: null };
  /** Failed attempts count from now on. */
  mark: { take: null; give: null };
  /** How many are there now. */
  present: { take: null; give: number };
  /** They lose their connections, all in the same moment, and come back in this manner. */
  drop: { take: Manner; give: null };
  /** When all are there, or when so many seconds are over. */
  returned: { take: number; give: ReturnReading };
};
