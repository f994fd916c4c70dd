/** How samples follow other samples: the straight line through them by least squares. */
import type { Plane } from './planes.ts';

export interface Regression {
  /** Of the line; 1: the same contrast. NaN where the reference is all one value. */
  readonly gain: number;
  /** Of the line, where the reference has `origin`. */
  readonly offset: number;
  /** Of the reference: how much there was to follow, in steps of one. */
  readonly deviation: number;
  /** Mean of ours less mean of the reference. */
  readonly shift: number;
}

/** All planes of `ours` together on all of `reference`. They pair up, and the two of a pair have one size. */
export function regress(ours: readonly Plane[], reference: readonly Plane[], origin: number): Regression {
  let count = 0;
  let sumX = 0;
  let sumY = 0;
  let sumXX = 0;
  let sumXY = 0;
  for (const [index, { samples: ys }] of ours.entries()) {
    const xs = reference[index]?.samples ?? new Uint8Array();
    if (xs.length !== ys.length) throw new Error('planes that do not pair up');
    count += ys.length;
    for (let at = 0; at < ys.length; at++) {
      const x = (xs[at] ?? 0) - origin;
      const y = (ys[at] ?? 0) - origin;
      sumX += x;
      sumY += y;
      sumXX += x * x;
      sumXY += x * y;
    }
  }
  const meanX = sumX / count;
  const meanY = sumY / count;
  const variance = sumXX / count - meanX * meanX;
  const gain = (sumXY / count - meanX * meanY) / variance;
  return { gain, offset: meanY - gain * meanX, deviation: Math.sqrt(variance), shift: meanY - meanX };
}
