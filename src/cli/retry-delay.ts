/** How long a module that lost its connection waits: what devices are told when they sign in. Source: signal-wire.md, welcome. */
const minMs = 2000;
const maxMs = 300_000;
const jitter = 0.5;

/**
 * Milliseconds before the next attempt after `failures` (from 1) in a row. Doubles each time; up to half of it is
 * added by chance, so that what was lost together does not come back together. `random`: 0 to below 1.
 */
export function retryDelayMs(failures: number, random: number): number {
  const doubled = minMs * 2 ** Math.min(failures - 1, 30);
  return Math.min(maxMs, doubled * (1 + jitter * random));
}
