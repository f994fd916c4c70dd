/**
 * What a leg is told that comes to a call which has moved on without it: a bridge that was given a call whose device has
 * accepted, a leg that comes back. Source: calls-and-media.md, Legs.
 */
import type { CallSession, LegMessage } from '../../model/call.ts';

/** Null: the call is only being established, which a leg knows by being there. */
export function presentState({ sessionId, state }: CallSession): LegMessage | null {
  if (state === 'issued' || state === 'establishing') return null;
  return { kind: 'state', sessionId, state, reason: null };
}
