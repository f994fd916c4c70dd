/** `--since`: where in the log to begin, as people and programs name it. */
import { InvalidArgumentError } from 'commander';
import { decodeCursor } from '../../protocol/rest/events.ts';
import { parseMoment, parseSpan } from '../shell/option-values.ts';

export type EventsSince =
  | { readonly kind: 'ago'; readonly seconds: number }
  | { readonly kind: 'moment'; readonly unixSeconds: number }
  /** Behind the event of this id. */
  | { readonly kind: 'event'; readonly id: string }
  /** Behind this place in the log. */
  | { readonly kind: 'cursor'; readonly sequence: number };

const spanForm = /^\d{1,9}[smhd]?$/;
const momentForm = /^\d{4}-\d\d-\d\d/;
const eventIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Throws InvalidArgumentError. */
export function parseSince(text: string): EventsSince {
  if (spanForm.test(text)) return { kind: 'ago', seconds: parseSpan(text) };
  if (eventIdForm.test(text)) return { kind: 'event', id: text.toLowerCase() };
  if (momentForm.test(text)) return { kind: 'moment', unixSeconds: parseMoment(text) };
  const sequence = decodeCursor(text);
  if (sequence !== null) return { kind: 'cursor', sequence };
  throw new InvalidArgumentError(
    'Expected a span like 10m, a moment like 2027-01-31T12:00:00Z, the id of an event, or a cursor of GET /v1/events.',
  );
}

/** As the query of the ops listener has it. */
export function startQuery(since: EventsSince, nowMs: number): readonly [key: string, value: string] {
  switch (since.kind) {
    case 'ago':
      return ['since', String(Math.max(0, Math.floor(nowMs) - since.seconds * 1000))];
    case 'moment':
      return ['since', String(since.unixSeconds * 1000)];
    case 'event':
      return ['since', since.id];
    case 'cursor':
      return ['after', String(since.sequence)];
  }
}
