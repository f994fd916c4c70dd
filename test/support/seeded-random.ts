/** Pseudo-random numbers, reproducible by a seed. */

export interface Chance {
  /** In [0, 1). */
  readonly next: () => number;
  /** A whole number in [0, `bound`). */
  below(bound: number): number;
}

/** Mulberry32. */
export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, below: (bound) => Math.floor(next() * bound) };
}
