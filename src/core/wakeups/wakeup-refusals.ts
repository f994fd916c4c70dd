/** How a wakeup is refused, in the words of its answer and of the metrics. Source: decisions.md, Wakeup. */
import { fail } from '../../lib/result.ts';
import { refusal, type Refusal, type WakeupCode } from '../../model/codes.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { WakeupAnswer } from './wakeup-memory.ts';

export function wakeupUnavailable(message: string): Refusal<WakeupCode> {
  return { ...refusal(50301, message), retryAfterS: 1 };
}

/** Counts it, too. */
export function refuseWakeup(
  { telemetry }: { readonly telemetry: Telemetry },
  why: Refusal<WakeupCode>,
): WakeupAnswer {
  telemetry.wakeup(outcomeLabels[why.code] ?? 'refused');
  return fail(why);
}

const outcomeLabels: Partial<Record<WakeupCode, 'failed' | 'unknown'>> = {
  50204: 'failed',
  50402: 'unknown',
};
