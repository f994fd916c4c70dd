/**
 * Administration of webhooks: questions of an operator, and the answers as the ops listener gives them. Plain values: they
 * cross a thread boundary. Moments are ISO 8601.
 */
import type { WebhookFigures } from '../../telemetry/gauges.ts';

/** `appId` null: the only application that has this url. */
export interface WebhookName {
  readonly url: string;
  readonly appId: string | null;
}

export interface FailureJson {
  readonly at: string;
  readonly status: number | null;
  readonly reason: string;
}

export interface WebhookJson {
  readonly app_id: string;
  /** Masked. */
  readonly url: string;
  readonly types: readonly string[];
  /** `open-circuit`: it keeps failing, and one event at a time is tried; `off`: it answered 410. */
  readonly state: 'on' | 'off' | 'open-circuit';
  /** Events of the log behind its cursor, for whomever they are. */
  readonly behind: number;
  /** Events that wait for a retry. */
  readonly failed: number;
  readonly parked: number;
  readonly last_success_at: string | null;
  readonly last_failure: FailureJson | null;
  /** Null: it is not off. */
  readonly switched_off_at: string | null;
}

export interface ParkedJson {
  readonly event_id: string;
  /** Its place in the log: `after` counts it. */
  readonly sequence: number;
  readonly type: string;
  readonly device_id: string;
  /** Time of the event. */
  readonly at: string;
  readonly last_failure: FailureJson;
}

/** By the kind of the question. */
export interface WebhookAnswers {
  readonly list: readonly WebhookJson[];
  readonly backlog: WebhookFigures;
  /** Parked events in the order of the log. */
  readonly show: { readonly webhook: WebhookJson; readonly parked: readonly ParkedJson[] };
  /** `status` null: there was no whole answer; `reason`: why it was not delivered. */
  readonly test: {
    readonly delivered: boolean;
    readonly status: number | null;
    readonly reason: string | null;
    readonly took_ms: number;
  };
  /** `parked`: still. */
  readonly replay: { readonly replayed: number; readonly parked: number };
  readonly enable: WebhookJson;
}

/** Nothing was done. */
export interface WebhookAdminRefusal {
  readonly kind: 'unknown' | 'ambiguous' | 'busy' | 'unavailable';
  readonly message: string;
}
