/**
 * The status of one device, for an operator: its registry entry, its two connections and its latest events. The same from
 * a running server and from a store at rest; times are Unix seconds, those of events ISO 8601.
 */
import { type ConnectionRecord, neverConnected } from '../../model/connectivity.ts';
import type { LoggedEvent } from '../../model/events.ts';
import { isExpired, type Device } from '../../model/registry.ts';
import { wireEvent, type WireEvent } from './event-query.ts';
import type { EventSource } from './event-pages.ts';

export interface DeviceStatus {
  /** Wall clock of the answering process in milliseconds: ages are counted from it. */
  readonly now_ms: number;
  readonly device: {
    readonly device_id: string;
    readonly product_id: string;
    readonly disabled: boolean;
    readonly expires_at: number | null;
    readonly expired: boolean;
  };
  readonly signal: ConnectionStatus;
  readonly sleep: ConnectionStatus;
  /** Its latest events, newest first. */
  readonly transitions: readonly WireEvent[];
}

export interface ConnectionStatus {
  /** `lost`: it was open when the server died; the next start ends it. */
  readonly state: 'open' | 'closed' | 'lost' | 'never';
  /** The session that is open or lost. */
  readonly session: string | null;
  readonly epoch: number;
  /** The node that has, or had, the latest session; null: not known any more. */
  readonly node: string | null;
  /** Why the latest session ended; null: it did not, or it is not known any more. */
  readonly reason: string | null;
  readonly last_login_at: number | null;
  readonly last_heartbeat_at: number | null;
  readonly last_offline_at: number | null;
}

/** One connection as the member that holds it sees it. */
export interface ObservedConnection {
  readonly record: ConnectionRecord | null;
  /** A member holds its socket now. */
  readonly isHeld: boolean;
  /** Unix seconds of the latest heartbeat on the socket; 0: none, or no socket. */
  readonly heartbeatAt: number;
}

export interface StatusSources {
  readonly device: Device;
  readonly signal: ObservedConnection;
  readonly sleep: ObservedConnection;
  readonly events: Pick<EventSource, 'recentOf'>;
  readonly nowMs: number;
}

export function describeDevice(sources: StatusSources): DeviceStatus {
  const { device, signal, sleep, nowMs } = sources;
  const { deviceId, productId, disabled, expiresAt } = device;
  const expired = isExpired(device, Math.floor(nowMs / 1000));
  const latest = sources.events.recentOf(deviceId);
  return {
    now_ms: nowMs,
    device: { device_id: deviceId, product_id: productId, disabled, expires_at: expiresAt, expired },
    signal: describeConnection(signal, latest, 'device.signal.'),
    sleep: describeConnection(sleep, latest, 'device.sleep.'),
    transitions: latest.map(wireEvent),
  };
}

function describeConnection(
  observed: ObservedConnection,
  latest: readonly LoggedEvent[],
  types: 'device.signal.' | 'device.sleep.',
): ConnectionStatus {
  const record = observed.record ?? neverConnected;
  const { epoch, openSession, lastLoginAt, lastHeartbeatAt, lastOfflineAt } = record;
  const event = latest.find((each) => each.epoch === epoch && each.type.startsWith(types));
  const data = event?.data as { readonly node?: string; readonly reason?: string } | undefined;
  return {
    state: stateOf(record, observed.isHeld),
    session: openSession,
    epoch,
    node: data?.node ?? null,
    reason: openSession === null ? (data?.reason ?? null) : null,
    last_login_at: lastLoginAt,
    last_heartbeat_at: observed.heartbeatAt || lastHeartbeatAt,
    last_offline_at: lastOfflineAt,
  };
}

function stateOf({ epoch, openSession }: ConnectionRecord, isHeld: boolean): ConnectionStatus['state'] {
  if (epoch === 0) return 'never';
  if (openSession === null) return 'closed';
  return isHeld ? 'open' : 'lost';
}
