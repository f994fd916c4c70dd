/**
 * What a bridge may say, from the bytes of a text message to values: its answer to a call it is offered, and how the
 * call goes. Strict where a field is known, blind to fields that are not. Source: calls-and-media.md, Legs.
 */
import { decodeJsonObject } from '../../lib/json-object.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { callEndReasons, type CallEndReason, type CallReport, type ReportedState } from '../../model/call.ts';
import type { JsonObject } from '../../model/json.ts';

export type BridgeText =
  /** Whether it takes the call that it was asked to take. */
  | { readonly kind: 'answer'; readonly accepted: boolean }
  /** `about`: the session it names; null: none, so its own. */
  | { readonly kind: 'report'; readonly report: CallReport; readonly about: string | null };

const accepts: BridgeText = { kind: 'answer', accepted: true };
const refuses: BridgeText = { kind: 'answer', accepted: false };
const reportedStates: readonly ReportedState[] = ['ringing', 'attempting', 'connected'];

/** Keeps nothing of `text`; or what is wrong with it, and what is expected. */
export function parseBridgeText(text: Uint8Array): Result<BridgeText, string> {
  const decoded = decodeJsonObject(text);
  if (!decoded.ok) return fail(`a text message is a JSON object with a type: ${decoded.error}`);
  switch (decoded.value['type']) {
    case 'accept':
      return succeed(accepts);
    case 'refuse':
      return succeed(refuses);
    case 'state':
      return parseState(decoded.value);
    default:
      return fail('the type of a bridge is accept, refuse or state');
  }
}

function parseState({ state: given, reason, session }: JsonObject): Result<BridgeText, string> {
  const about = sessionNamed(session);
  if (given === 'ended')
    return succeed({ kind: 'report', report: { kind: 'end', reason: endReason(reason) }, about });
  const state = reportedStates.find((known) => known === given);
  if (state === undefined) return fail('the state is ringing, attempting, connected or ended');
  return succeed({ kind: 'report', report: { kind: 'progress', state }, about });
}

/** What is no text names no session there could be. */
function sessionNamed(given: unknown): string | null {
  if (given === undefined || given === null) return null;
  return typeof given === 'string' ? given : '';
}

/** A call is over whatever its bridge calls it. */
function endReason(given: unknown): CallEndReason {
  if (given === undefined || given === null) return 'hangup_phone';
  return callEndReasons.find((known) => known === given) ?? 'error';
}
