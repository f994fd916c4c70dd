/** Divisions of whole numbers that are exact: a quotient of floating point may round up to the next whole one. */

/** Rounded down. Both whole, not negative, `divisor` not 0, `dividend` a safe integer. */
export function quotient(dividend: number, divisor: number): number {
  return (dividend - (dividend % divisor)) / divisor;
}

/** Down to even. Whole, not negative. */
export function evenAtMost(value: number): number {
  return value - (value % 2);
}
