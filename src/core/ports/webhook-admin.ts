/**
 * Administration of webhooks: questions of an operator and their answers. Plain values: they cross a thread boundary.
 */
import type { DeviceId, EventId } from '../../model/ids.ts';
import type { DeliveryFailure } from './delivery-store.ts';

/** `appId` null: the only application that has this url. */
export interface WebhookName {
  readonly url: string;
  readonly appId: string | null;
}

export interface WebhookStatus {
  readonly appId: string;
  readonly url: string;
  readonly types: readonly string[];
  /** `open-circuit`: it keeps failing, and one event at a time is tried; `off`: it answered 410. */
  readonly state: 'on' | 'off' | 'open-circuit';
  /** Events of the log behind its cursor, for whomever they are. */
  readonly behind: number;
  /** Events that wait for a retry. */
  readonly failed: number;
  readonly parked: number;
  /** Wall milliseconds. */
  readonly lastSuccessAtMs: number | null;
  readonly lastFailure: DeliveryFailure | null;
  /** Wall milliseconds; null: it is not off. */
  readonly switchedOffAtMs: number | null;
}

export interface ParkedStatus {
  readonly eventId: EventId;
  /** Its place in the log: what `after` counts. */
  readonly sequence: number;
  readonly type: string;
  readonly deviceId: DeviceId;
  /** Wall milliseconds of the event. */
  readonly atMs: number;
  readonly failure: DeliveryFailure;
}

export interface WebhookDetails {
  readonly webhook: WebhookStatus;
  /** In the order of the log. */
  readonly parked: readonly ParkedStatus[];
}

export interface TestResult {
  readonly delivered: boolean;
  /** Null: there was no whole answer. */
  readonly status: number | null;
  /** Why it was not delivered. */
  readonly reason: string | null;
  readonly tookMs: number;
}

export interface ReplayResult {
  readonly replayed: number;
  /** Still parked. */
  readonly parked: number;
}

/** Nothing was done. */
export interface WebhookAdminRefusal {
  readonly kind: 'unknown' | 'ambiguous' | 'busy' | 'unavailable';
  readonly message: string;
}
