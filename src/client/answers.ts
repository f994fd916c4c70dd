/** `data` of each endpoint's success, named as on the wire. Source: API doc, Resources and their fields; events.md, Reading. */
import type { EventBody } from '../model/events.ts';
import type { WakeCause } from '../model/signal.ts';
import type { WakeupStatus } from '../model/wakeup.ts';

/** Whole Unix seconds; null: none was observed. */
export interface ConnectionTimes {
  readonly last_login_at: number | null;
  readonly last_heartbeat_at: number | null;
  readonly last_offline_at: number | null;
}

export interface ConnectivityData {
  readonly device_id: string;
  readonly signal: ConnectionTimes & { readonly is_online: boolean };
  readonly sleep: ConnectionTimes;
}

/** Times like 2026-11-20T08:30:00.123+00:00, here and below. */
export interface WakeupData {
  readonly device_id: string;
  readonly status: 'accepted';
  readonly accepted_at: string;
}

export interface WakeupOutcomeData {
  readonly request_id: string;
  readonly device_id: string;
  readonly status: WakeupStatus;
  readonly accepted_at: string | null;
  readonly completed_at: string | null;
  readonly woke_after_ms: number | null;
  readonly already_online: boolean;
  readonly cause: WakeCause | null;
}

export interface MessageData {
  readonly device_id: string;
  readonly id: string;
  readonly acknowledged_at: string;
}

/** Order a device's events by `seq`, tell duplicates by `id`. A later release may have types that are not listed. */
export type ApiEvent = EventBody & {
  readonly id: string;
  readonly at: string;
  readonly device_id: string;
  readonly seq: number;
  readonly epoch: number | null;
};

export interface EventsData {
  readonly events: readonly ApiEvent[];
  /** Pass it back as `after`: nothing is missed and nothing repeated. */
  readonly next: string;
  /** The log no longer has what the cursor points behind. */
  readonly truncated: boolean;
}

export interface CallStatusData {
  readonly in_call: boolean;
}

/** Both go to the device: the arguments of its connect function. */
export interface CallCredentialsData {
  readonly peer_id: string;
  readonly token: string;
}
