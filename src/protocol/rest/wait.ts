/** `wait`: for how long a caller lets an answer that is not there yet be waited for. Source: events.md, Reading. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { longPollSecondsMax } from '../../model/limits.ts';

const secondsForm = /^[0-9]{1,2}(?:\.[0-9]{1,3})?$/;

/** Whole milliseconds, 0 to 30 000; absent is 0. Or what is wrong in words for the caller. */
export function decodeWait(value: string | undefined): Result<number, string> {
  if (value === undefined) return succeed(0);
  if (!secondsForm.test(value) || Number(value) > longPollSecondsMax)
    return fail(`wait must be 0-${longPollSecondsMax} seconds, with at most three decimals`);
  return succeed(Math.round(Number(value) * 1000));
}
