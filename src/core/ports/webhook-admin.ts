/**
 * Administration of webhooks: an operator's questions, and the answers of the ops listener. Plain values, since they cross a thread
 * boundary. Times are ISO 8601.
 */
import type { WebhookFigures } from '../../telemetry/gauges.ts';

/** `appId` null: the only application with this url. */
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
  /** `open-circuit`: it keeps failing, and one event at a time is sent; `off`: it answered 410. */
  readonly state: 'on' | 'off' | 'open-circuit';
  /** Events after its cursor, of all applications. */
  readonly behind: number;
  readonly failed: number;
  readonly parked: number;
  readonly last_success_at: string | null;
  readonly last_failure: FailureJson | null;
  readonly switched_off_at: string | null;
}

export interface ParkedJson {
  readonly event_id: string;
  /** Its sequence in the log, as `after` uses it. */
  readonly sequence: number;
  readonly type: string;
  readonly device_id: string;
  readonly at: string;
  readonly last_failure: FailureJson;
}

export interface WebhookAnswers {
  readonly list: readonly WebhookJson[];
  readonly backlog: WebhookFigures;
  /** Parked events in log order. */
  readonly show: { readonly webhook: WebhookJson; readonly parked: readonly ParkedJson[] };
  /** `status` null: no complete answer arrived; `reason`: why the delivery failed. */
  readonly test: {
    readonly delivered: boolean;
    readonly status: number | null;
    readonly reason: string | null;
    readonly took_ms: number;
  };
  readonly replay: { readonly replayed: number; readonly parked: number };
  readonly enable: WebhookJson;
}

/** Nothing was done. */
export interface WebhookAdminRefusal {
  readonly kind: 'unknown' | 'ambiguous' | 'busy' | 'unavailable';
  readonly message: string;
}
