/** Throws on a programmer's mistake. Never for input: bad input is a returned value. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
