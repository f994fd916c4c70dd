/** Whether JetStream refused a write because another came first: the one rule of every compare-and-set. */
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';

/** Newer servers have a code of its own for a refusal that does not name the sequence they found. */
const codes: ReadonlySet<number> = new Set([
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);

export function isConflict(error: unknown): boolean {
  return error instanceof JetStreamApiError && codes.has(error.code);
}
