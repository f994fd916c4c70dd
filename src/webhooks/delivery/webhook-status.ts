/** What an operator is told of a webhook: of one that is served, and of one that is looked at with no server running. */
import type { Webhook } from '../../model/registry.ts';
import type { HookRecord, ParkedEvent } from '../../core/ports/delivery-store.ts';
import type { ParkedStatus, WebhookStatus } from '../../core/ports/webhook-admin.ts';

export interface WebhookCircumstances {
  /** The sequence of the newest event. */
  readonly head: number;
  readonly failed: number;
  readonly isCircuitOpen: boolean;
}

/** `record` null: no server has seen it yet. */
export function describeWebhook(
  { appId, url, types }: Webhook,
  record: HookRecord | null,
  { head, failed, isCircuitOpen }: WebhookCircumstances,
): WebhookStatus {
  const switchedOffAtMs = record?.switchedOff?.atMs ?? null;
  const onState = isCircuitOpen ? 'open-circuit' : 'on';
  return {
    appId,
    url,
    types,
    state: switchedOffAtMs === null ? onState : 'off',
    behind: record === null ? 0 : Math.max(0, head - record.cursor),
    failed,
    parked: record?.parked ?? 0,
    lastSuccessAtMs: record?.lastSuccessAtMs ?? null,
    lastFailure: record?.lastFailure ?? null,
    switchedOffAtMs,
  };
}

export function describeParked({ event, failure }: ParkedEvent): ParkedStatus {
  const { id, sequence, type, deviceId, atMs } = event;
  return { eventId: id, sequence, type, deviceId, atMs, failure };
}
