/** Cursors of the event log as callers get them: from an answer that holds no event. */
import { encodeEventPage } from '../../src/protocol/rest/events.ts';

/** `sequence`: of the event it stands behind; 0: before the first. */
export function encodeCursor(sequence: number): string {
  const page = encodeEventPage({ events: [], next: sequence, truncated: false });
  return (JSON.parse(page) as { readonly next: string }).next;
}
