/** The result of a check: state, finding and next step. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warn' | 'fail';
  readonly found: string;
  /** Next step; null if nothing is wrong. */
  readonly advice: string | null;
}

export function ok(check: string, found: string): Finding {
  return { check, state: 'ok', found, advice: null };
}

export function warn(check: string, found: string, advice: string): Finding {
  return { check, state: 'warn', found, advice };
}

export function failing(check: string, found: string, advice: string): Finding {
  return { check, state: 'fail', found, advice };
}

export const megabyte = 1_000_000;

export function inMegabytes(bytes: number): string {
  return bytes >= 10_000 * megabyte
    ? `${Math.round(bytes / megabyte / 1000)} GB`
    : `${Math.ceil(bytes / megabyte)} MB`;
}
