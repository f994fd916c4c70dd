/** The record of a device's two connections, and the reasons of refused logins. Source: API doc, Connectivity record. */
import type { DeviceId, SessionId } from './ids.ts';

/** Whole Unix seconds; null: none observed. */
export interface ConnectionTimes {
  readonly lastLoginAt: number | null;
  readonly lastHeartbeatAt: number | null;
  readonly lastOfflineAt: number | null;
}

/** Stored state of one connection of one device, live or not. Each device has two: signal and sleep. */
export interface ConnectionRecord extends ConnectionTimes {
  /** From 1, +1 per accepted login, never reused, even across restarts; 0: no login yet. */
  readonly epoch: number;
  readonly openSession: SessionId | null;
}

export const neverConnected: ConnectionRecord = {
  epoch: 0,
  lastLoginAt: null,
  lastHeartbeatAt: null,
  lastOfflineAt: null,
  openSession: null,
};

export function latestTimes(one: ConnectionTimes, other: ConnectionTimes): ConnectionTimes {
  return {
    lastLoginAt: latest(one.lastLoginAt, other.lastLoginAt),
    lastHeartbeatAt: latest(one.lastHeartbeatAt, other.lastHeartbeatAt),
    lastOfflineAt: latest(one.lastOfflineAt, other.lastOfflineAt),
  };
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

export interface ConnectivityRecord {
  readonly deviceId: DeviceId;
  readonly signal: ConnectionTimes & { readonly isOnline: boolean };
  readonly sleep: ConnectionTimes;
}

/** Refusals that the device reads as `denied`. */
export const loginDenials = ['wrong_mac', 'unknown', 'disabled', 'expired'] as const;
export type LoginDenial = (typeof loginDenials)[number];

/**
 * Causes of refused logins, for operators only. `busy`: the server is full, or its store is behind; `too_fast`: the device
 * exceeds its own rate.
 */
export const loginRefusals = [...loginDenials, 'busy', 'too_fast'] as const;
export type LoginRefusal = (typeof loginRefusals)[number];

/** `conflict`: accepted logins of one device that keep replacing each other. */
export const loginTroubles = [...loginRefusals, 'conflict'] as const;
export type LoginTrouble = (typeof loginTroubles)[number];
