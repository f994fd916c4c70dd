/** Cursors of the event log as callers receive them, from an answer without events. */
import { encodeEventPage } from '../../src/protocol/rest/events.ts';

/** `sequence`: the event before the cursor; 0: before the first. */
export function encodeCursor(sequence: number): string {
  const page = encodeEventPage({ events: [], next: sequence, truncated: false });
  return (JSON.parse(page) as { readonly next: string }).next;
}
