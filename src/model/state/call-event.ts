/** From what has changed of a call to what backends are told. Source: events.md, The log. */
import type { CallChange } from '../call.ts';
import type { EventDraft } from '../events.ts';

export function callEvent(change: CallChange): EventDraft {
  const { sessionId: session, deviceId, state, reason, atMs } = change;
  return { type: eventTypeOf(change), data: { session, state, reason }, deviceId, atMs, epoch: null };
}

function eventTypeOf({ from, state }: CallChange): 'call.started' | 'call.state' | 'call.ended' {
  if (state === 'ended') return 'call.ended';
  return from === 'issued' ? 'call.started' : 'call.state';
}
