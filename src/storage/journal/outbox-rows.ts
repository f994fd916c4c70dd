/**
 * Rows of the outbox: plain values as msgpack arrays, decoded strictly because other members receive them. Source: cluster.md,
 * Events.
 */
import { z } from 'zod';

import { fail, succeed, type Result } from '../../lib/result.ts';
import { packPlain, unpackPlain } from '../../lib/plain-msgpack.ts';
import { eventDraft, plainDraft } from '../../protocol/cluster/stored-values.ts';
import {
  applicationId,
  deviceId,
  line,
  memberId,
  productId,
  requestId,
  word,
} from '../../protocol/cluster/wire-values.ts';
import { sharedCalls } from '../../protocol/cluster/call-values.ts';
import { sessionId, wakeupRecord } from '../../protocol/cluster/member-values.ts';
import { connectionKinds } from '../../model/cluster.ts';
import type { EventId } from '../../model/ids.ts';
import type { OutboxEvent, OutboxItem } from '../../core/ports/outbox.ts';
import type { Table } from '../lmdb/environment.ts';

export interface OutboxTables {
  /** Keyed by place: eight bytes, big-endian. */
  readonly items: Table<unknown>;
  /** One row, `lastPlaceKey`: the highest place ever assigned. */
  readonly places: Table<number>;
}

export const lastPlaceKey = Buffer.from('last');

const event = z
  .tuple([word<EventId>(), productId.nullable(), eventDraft])
  .transform(([id, productId, draft]): OutboxEvent => ({ id, productId, draft }));

const connection = z.enum(connectionKinds);

/** Add a kind rather than a field: an earlier release rejects items of a later one. */
const row: z.ZodType<OutboxItem> = z.union([
  z
    .tuple([
      z.enum(['login', 'ended']),
      connection,
      deviceId,
      sessionId,
      memberId,
      line,
      z.int().min(0),
      event,
    ])
    .transform(([kind, connection, deviceId, session, member, node, heartbeatAt, event]) => ({
      kind,
      connection,
      deviceId,
      session,
      member,
      node,
      heartbeatAt,
      event,
    })),
  z
    .tuple([z.literal('event'), deviceId, event])
    .transform(([kind, deviceId, event]) => ({ kind, deviceId, event })),
  z
    .tuple([z.literal('wakeup'), applicationId, requestId, wakeupRecord, z.boolean(), event.nullable()])
    .transform(([kind, appId, requestId, record, isFirst, event]) => ({
      kind,
      deviceId: record.deviceId,
      appId,
      requestId,
      record,
      isFirst,
      event,
    })),
  z
    .tuple([z.literal('calls'), deviceId, sharedCalls, event.nullable()])
    .transform(([kind, deviceId, calls, event]) => ({ kind, deviceId, calls, event })),
]);

export function encodeOutboxItem(item: OutboxItem): Buffer {
  return packPlain(fieldsOf(item));
}

/** The error is the end of a sentence that describes the fault. Never throws. */
export function decodeOutboxItem(bytes: Uint8Array): Result<OutboxItem, string> {
  const result = row.safeParse(unpackPlain(bytes));
  if (!result.success) return fail(result.error.issues[0]?.message ?? 'is no item of the outbox');
  const item = result.data;
  const about = item.event?.draft.deviceId ?? item.deviceId;
  return about === item.deviceId ? succeed(item) : fail('has an event of another device');
}

function fieldsOf(item: OutboxItem): readonly unknown[] {
  const { kind, deviceId } = item;
  switch (kind) {
    case 'login':
    case 'ended': {
      const { connection, session, member, node, heartbeatAt } = item;
      return [kind, connection, deviceId, session, member, node, heartbeatAt, fieldsOfEvent(item.event)];
    }
    case 'event':
      return [kind, deviceId, fieldsOfEvent(item.event)];
    case 'wakeup':
      return [kind, item.appId, item.requestId, item.record, item.isFirst, fieldsOfEvent(item.event)];
    case 'calls':
      return [kind, deviceId, item.calls, fieldsOfEvent(item.event)];
  }
}

function fieldsOfEvent(event: OutboxEvent | null): readonly unknown[] | null {
  return event === null ? null : [event.id, event.productId, plainDraft(event.draft)];
}
