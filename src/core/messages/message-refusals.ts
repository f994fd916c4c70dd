/** How a message is refused, in the words of its answer and of the metrics. Source: signal-wire.md, Sending a message. */
import { fail, type Result } from '../../lib/result.ts';
import { refusal, type MessageCode, type Refusal } from '../../model/codes.ts';
import type { MessageReceipt } from '../../model/message.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

export type MessageAnswer = Result<MessageReceipt, Refusal<MessageCode>>;

/** A message that waits makes room within seconds, and a known one with the next second of the clock window. */
const comeAgainS = 1;

export function messageOverload(message: string): Refusal<MessageCode> {
  return { ...refusal(42901, message), retryAfterS: comeAgainS };
}

export function messageUnavailable(message: string): Refusal<MessageCode> {
  return { ...refusal(50301, message), retryAfterS: comeAgainS };
}

/** Counts it, too. */
export function refuseMessage(
  { telemetry }: { readonly telemetry: Telemetry },
  why: Refusal<MessageCode>,
): MessageAnswer {
  telemetry.message(why.code === 50402 ? 'unknown' : 'refused');
  return fail(why);
}
