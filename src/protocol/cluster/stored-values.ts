/**
 * Values that members keep where all of them see it, as bytes: each is written whole by one of them and read by others,
 * and names its own subject. Decoders give the value or what is wrong with the bytes, as a sentence, and never throw.
 * Source: cluster.md.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import type { ConnectionKind, DeviceCallsKept, DeviceRow, MemberStatus } from '../../model/cluster.ts';
import type { EventDraft } from '../../model/events.ts';
import type { ApplicationId, DeviceId, EventId, ProductId, RequestId, SessionId } from '../../model/ids.ts';
import { peerMessageBytesMax } from '../../model/limits.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import { eventDraft, plainDraft } from './event-values.ts';
import { applicationId, deviceId, memberId, productId, requestId, stamp, word } from './name-values.ts';
import { callSessions, deviceRow, memberStatus, plainDeviceRow, sessionId } from './session-values.ts';
import { decodeVersioned, encodeVersioned } from './versioned.ts';
import { wakeupRecord } from './wakeup-values.ts';

export interface StoredRow {
  readonly deviceId: DeviceId;
  readonly row: DeviceRow;
}

const storedRow: z.ZodType<StoredRow> = z.strictObject({ deviceId, row: deviceRow });

export function encodeDeviceRow(deviceId: DeviceId, row: DeviceRow): Uint8Array {
  return encodeVersioned({ deviceId, row: plainDeviceRow(row) });
}

export function decodeDeviceRow(bytes: Uint8Array): Result<StoredRow, string> {
  return decodeVersioned(bytes, storedRow);
}

export interface SharedLogEvent {
  readonly id: EventId;
  /** The device's own, from 1. */
  readonly seq: number;
  readonly draft: EventDraft;
  readonly productId: ProductId | null;
}

const sharedLogEvent: z.ZodType<SharedLogEvent> = z.strictObject({
  id: word<EventId>(),
  seq: z.int().min(1),
  draft: eventDraft,
  productId: productId.nullable(),
});

export function encodeSharedEvent({ id, seq, draft, productId }: SharedLogEvent): Uint8Array {
  return encodeVersioned({ id, seq, draft: plainDraft(draft), productId });
}

export function decodeSharedEvent(bytes: Uint8Array): Result<SharedLogEvent, string> {
  return decodeVersioned(bytes, sharedLogEvent);
}

export function encodeMemberStatus(status: MemberStatus): Uint8Array {
  return encodeVersioned(status);
}

export function decodeMemberStatus(bytes: Uint8Array): Result<MemberStatus, string> {
  return decodeVersioned(bytes, memberStatus);
}

export interface DeviceHeartbeat {
  readonly deviceId: DeviceId;
  readonly connection: ConnectionKind;
  readonly session: SessionId;
  /** Unix seconds. */
  readonly heartbeatAt: number;
}

/** Packed: the names of fields would be most of it. */
const deviceHeartbeats: z.ZodType<readonly DeviceHeartbeat[]> = z.array(
  z
    .tuple([deviceId, z.boolean(), sessionId, stamp])
    .transform(([deviceId, isSignal, session, heartbeatAt]) => ({
      deviceId,
      connection: isSignal ? ('signal' as const) : ('sleep' as const),
      session,
      heartbeatAt,
    })),
);

/** Bytes of a heartbeat beside those of its ids, and of the list of them. */
const heartbeatBytesMax = 64;

/** Heartbeats beyond `peerMessageBytesMax` are left out: the kept ones of their devices are older for it. */
export function encodeHeartbeats(heartbeats: readonly DeviceHeartbeat[]): Uint8Array {
  const packed: unknown[] = [];
  let bytes = heartbeatBytesMax;
  for (const { deviceId, connection, session, heartbeatAt } of heartbeats) {
    bytes += Buffer.byteLength(deviceId) + session.length + heartbeatBytesMax;
    if (bytes > peerMessageBytesMax) break;
    packed.push([deviceId, connection === 'signal', session, heartbeatAt]);
  }
  return encodeVersioned(packed);
}

export function decodeHeartbeats(bytes: Uint8Array): Result<readonly DeviceHeartbeat[], string> {
  return decodeVersioned(bytes, deviceHeartbeats);
}

export interface StoredWakeup {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly record: WakeupRecord;
}

const storedWakeup: z.ZodType<StoredWakeup> = z.strictObject({
  appId: applicationId,
  requestId,
  record: wakeupRecord,
});

export function encodeWakeupRecord({ appId, requestId, record }: StoredWakeup): Uint8Array {
  return encodeVersioned({ appId, requestId, record });
}

export function decodeWakeupRecord(bytes: Uint8Array): Result<StoredWakeup, string> {
  return decodeVersioned(bytes, storedWakeup);
}

export interface DeviceCalls extends DeviceCallsKept {
  readonly deviceId: DeviceId;
}

const deviceCalls: z.ZodType<DeviceCalls> = z.strictObject({
  deviceId,
  coordinator: memberId,
  sessions: callSessions,
  isIssuing: z.boolean(),
});

/** The sessions hold the secrets of their rooms. */
export function encodeDeviceCalls({ deviceId, coordinator, sessions, isIssuing }: DeviceCalls): Uint8Array {
  return encodeVersioned({ deviceId, coordinator, sessions, isIssuing });
}

export function decodeDeviceCalls(bytes: Uint8Array): Result<DeviceCalls, string> {
  return decodeVersioned(bytes, deviceCalls);
}
