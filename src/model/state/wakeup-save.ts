/**
 * The record of a wakeup after each transition, and the event that accompanies it. The transitions are those of
 * wakeup-outcome.ts. Source: events.md, The log and Reading.
 */
import type { EventDraft } from '../events.ts';
import type { DeviceId, RequestId, WakeupId } from '../ids.ts';
import type { WakeupRecord, WakeupRequest } from '../wakeup.ts';

/** Store this record, and append the event to the log with it. */
export interface WakeupSave {
  readonly record: WakeupRecord;
  readonly event: EventDraft | null;
}

export interface WakeupWrite {
  readonly request: WakeupRequest;
  /** Lowercase hex. */
  readonly packet: string;
  readonly sleepEpoch: number;
  readonly begunAtMs: number;
}

export function acceptedSave(write: WakeupWrite, id: WakeupId, atMs: number): WakeupSave {
  const { deviceId, requestId: request_id, customDataText: custom_data } = write.request;
  return {
    record: firstRecord(write, id, 'accepted', atMs),
    event: {
      type: 'device.wakeup.accepted',
      data: { request_id, custom_data },
      deviceId,
      atMs,
      epoch: write.sleepEpoch,
    },
  };
}

/** Without an event: it is unknown whether the packet was sent. */
export function unknownSave(write: WakeupWrite, id: WakeupId): WakeupSave {
  return { record: firstRecord(write, id, 'unknown', null), event: null };
}

export function completedSave(
  requestId: RequestId,
  before: WakeupRecord,
  atMs: number,
  wokeAfterMs: number,
  alreadyOnline: boolean,
): WakeupSave {
  const { deviceId, sleepEpoch: epoch } = before;
  return {
    record: {
      ...before,
      status: 'completed',
      isAwaited: false,
      completedAtMs: atMs,
      wokeAfterMs,
      alreadyOnline,
    },
    event: {
      type: 'device.wakeup.completed',
      data: { request_id: requestId, woke_after_ms: wokeAfterMs },
      deviceId,
      atMs,
      epoch,
    },
  };
}

/** Deadline without a login: failed after a reset, else expired; one that was answered 50402 stays unknown, without an event. */
export function ranOutSave(
  requestId: RequestId,
  before: WakeupRecord,
  wasReset: boolean,
  atMs: number,
): WakeupSave {
  if (before.acceptedAtMs === null) return { record: { ...before, isAwaited: false }, event: null };
  const { deviceId, sleepEpoch: epoch } = before;
  const about = { deviceId, atMs, epoch };
  return wasReset
    ? {
        record: { ...before, status: 'failed', isAwaited: false },
        event: { type: 'device.wakeup.failed', data: { request_id: requestId, reason: 'reset' }, ...about },
      }
    : {
        record: { ...before, status: 'expired', isAwaited: false },
        event: { type: 'device.wakeup.expired', data: { request_id: requestId }, ...about },
      };
}

/** The record of a repeat of a wakeup; `nowMs` is wall time. */
export function aliasRecord(
  id: WakeupId,
  repeatOf: RequestId,
  deviceId: DeviceId,
  acceptedAtMs: number | null,
  nowMs: number,
): WakeupRecord {
  return {
    id,
    deviceId,
    status: acceptedAtMs === null ? 'unknown' : 'accepted',
    isAwaited: false,
    begunAtMs: acceptedAtMs ?? nowMs,
    acceptedAtMs,
    completedAtMs: null,
    wokeAfterMs: null,
    alreadyOnline: false,
    cause: null,
    sleepEpoch: 0,
    packet: null,
    repeatOf,
  };
}

function firstRecord(
  { request, packet, sleepEpoch, begunAtMs }: WakeupWrite,
  id: WakeupId,
  status: 'accepted' | 'unknown',
  acceptedAtMs: number | null,
): WakeupRecord {
  return {
    id,
    deviceId: request.deviceId,
    status,
    isAwaited: true,
    begunAtMs,
    acceptedAtMs,
    completedAtMs: null,
    wokeAfterMs: null,
    alreadyOnline: false,
    cause: null,
    sleepEpoch,
    packet,
  };
}
