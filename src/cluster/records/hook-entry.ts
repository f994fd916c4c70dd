/**
 * The webhooks' delivery store as the nodes share it: what one value of its bucket holds. Its entries have numbered places,
 * used again when they are free, so that the bucket never has more of them than there once were at a time.
 * Source: events.md, Webhooks; cluster.md, Events.
 */
import { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { decodeSharedEvent, encodeSharedEvent } from '../../protocol/cluster/stored-values.ts';
import { decodeVersioned, encodeVersioned } from '../../protocol/cluster/wire-values.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { FailedEvent, HookRecord, ParkedEvent } from '../../core/ports/delivery-store.ts';

export type HookEntry =
  | { readonly kind: 'hook'; readonly id: string; readonly record: HookRecord }
  | { readonly kind: 'failed'; readonly number: number; readonly kept: FailedEvent }
  | { readonly kind: 'parked'; readonly number: number; readonly kept: ParkedEvent }
  | { readonly kind: 'free' };

const whole = z.int().min(0);
/** Wall milliseconds; a time that jitter has moved has a fraction. */
const stamp = z.number();
const hookNumber = z.int().min(1).max(0xff_ff_ff_ff);
const text = z.string().max(8192);
const failure = z.strictObject({ atMs: stamp, status: z.int().nullable(), reason: text });
const eventBytes = z.instanceof(Uint8Array);

const record = z.strictObject({
  number: hookNumber,
  cursor: whole,
  parked: whole,
  switchedOff: z.strictObject({ atMs: stamp, secretSha256: text }).nullable(),
  lastSuccessAtMs: stamp.nullable(),
  lastFailure: failure.nullable(),
});

/** An event is `sequence` and its bytes in the shared log. */
const storedEntry = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('hook'), id: z.string().min(1).max(65_536), record }),
  z.strictObject({
    kind: z.literal('failed'),
    number: hookNumber,
    sequence: whole,
    event: eventBytes,
    attempts: whole,
    dueAtMs: stamp,
  }),
  z.strictObject({
    kind: z.literal('parked'),
    number: hookNumber,
    sequence: whole,
    event: eventBytes,
    failure,
  }),
  z.strictObject({ kind: z.literal('free') }),
]);

export function encodeHookEntry(entry: HookEntry): Uint8Array {
  if (entry.kind === 'hook' || entry.kind === 'free') return encodeVersioned(entry);
  const { kind, number } = entry;
  const { sequence, id, seq, productId, ...draft } = entry.kept.event;
  const event = encodeSharedEvent({ id, seq, draft, productId });
  if (entry.kind === 'parked')
    return encodeVersioned({ kind, number, sequence, event, failure: entry.kept.failure });
  const { attempts, dueAtMs } = entry.kept;
  return encodeVersioned({ kind, number, sequence, event, attempts, dueAtMs });
}

export function decodeHookEntry(bytes: Uint8Array): Result<HookEntry, string> {
  const decoded = decodeVersioned(bytes, storedEntry);
  if (!decoded.ok) return decoded;
  const stored = decoded.value;
  if (stored.kind === 'hook' || stored.kind === 'free') return succeed(stored);
  const shared = decodeSharedEvent(stored.event);
  if (!shared.ok) return fail(shared.error);
  const { draft, ...named } = shared.value;
  const event: LoggedEvent = { ...draft, ...named, sequence: stored.sequence };
  const { number } = stored;
  if (stored.kind === 'parked')
    return succeed({ kind: 'parked', number, kept: { event, failure: stored.failure } });
  const { attempts, dueAtMs } = stored;
  return succeed({ kind: 'failed', number, kept: { event, attempts, dueAtMs } });
}
