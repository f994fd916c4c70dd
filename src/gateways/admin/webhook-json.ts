/** What operators are told of webhooks, as JSON: of a running server and of a store at rest. No secret is in it. */
import type { DeliveryFailure } from '../../core/ports/delivery-store.ts';
import type { ParkedStatus, WebhookStatus } from '../../core/ports/webhook-admin.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';

export interface FailureJson {
  readonly at: string;
  readonly status: number | null;
  readonly reason: string;
}

export interface WebhookJson {
  readonly app_id: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly state: WebhookStatus['state'];
  readonly behind: number;
  readonly failed: number;
  readonly parked: number;
  readonly last_success_at: string | null;
  readonly last_failure: FailureJson | null;
  readonly switched_off_at: string | null;
}

export interface ParkedJson {
  readonly event_id: string;
  readonly sequence: number;
  readonly type: string;
  readonly device_id: string;
  readonly at: string;
  readonly last_failure: FailureJson;
}

export function encodeWebhook(status: WebhookStatus): WebhookJson {
  return {
    app_id: status.appId,
    url: status.url,
    types: status.types,
    state: status.state,
    behind: status.behind,
    failed: status.failed,
    parked: status.parked,
    last_success_at: status.lastSuccessAtMs === null ? null : formatTimestamp(status.lastSuccessAtMs),
    last_failure: status.lastFailure && encodeFailure(status.lastFailure),
    switched_off_at: status.switchedOffAtMs === null ? null : formatTimestamp(status.switchedOffAtMs),
  };
}

export function encodeParked({ eventId, sequence, type, deviceId, atMs, failure }: ParkedStatus): ParkedJson {
  return {
    event_id: eventId,
    sequence,
    type,
    device_id: deviceId,
    at: formatTimestamp(atMs),
    last_failure: encodeFailure(failure),
  };
}

function encodeFailure({ atMs, status, reason }: DeliveryFailure): FailureJson {
  return { at: formatTimestamp(atMs), status, reason };
}
