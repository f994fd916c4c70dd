/**
 * A device on the ops listener: `GET /v1/device/status?device_id=…` describes its registry entry, its two connections, its
 * refused logins and its latest events; `POST /v1/device/kick` ends its sessions. In a cluster the newest session describes a
 * connection. Times are Unix seconds, except those of events, which are ISO 8601.
 */
import { z } from 'zod';
import { completesWithin } from '../../lib/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ConnectionKind, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { deviceIdField } from './device-changes.ts';
import { disconnectEverywhere, type DisconnectDeps } from '../../cluster/ownership/disconnect-everywhere.ts';
import {
  changeRoute,
  missingEntry,
  readRoute,
  refuse,
  type AdminAnswer,
  type AdminRefusal,
  type AdminRoute,
} from '../ops/admin-route.ts';
import type { RefusedLogin, RefusedLogins } from '../../core/devices/refused-logins.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import type { SessionHeartbeat } from '../../protocol/cluster/member-values.ts';
import { type ConnectionRecord, neverConnected } from '../../model/connectivity.ts';
import type { LoggedEvent } from '../../model/events.ts';
import { isExpired, type Device } from '../../model/registry.ts';
import { wireEvent } from './event-query.ts';
import { encodeRefused } from './refused-route.ts';

export interface DeviceRoutesDeps extends DisconnectDeps {
  readonly registry: RegistryReader;
  readonly signalRecords: ConnectionRecords;
  readonly sleepRecords: ConnectionRecords;
  readonly events: EventLog;
  readonly refusedLogins: Pick<RefusedLogins, 'list'>;
}

const statusQuery = z.object({ device_id: z.string().default('').pipe(deviceIdField) });
const kickBody = z.strictObject({ device_id: deviceIdField });

export function deviceRoutes(deps: DeviceRoutesDeps): readonly AdminRoute[] {
  return [
    readRoute('/v1/device/status', statusQuery, (query) => describe(deps, query.device_id)),
    changeRoute('/v1/device/kick', kickBody, (body) => kick(deps, body.device_id), {
      answered: { kicked: 'kicked' },
    }),
  ];
}

/** Maximum wait for the commit of what an answer describes: a blocked store must not hide the rest. */
const commitMsMax = 2000;

async function describe(deps: DeviceRoutesDeps, deviceId: DeviceId): Promise<AdminAnswer> {
  await completesWithin(deps.clock, commitMsMax, bothCommitted(deps, deviceId));
  const { registry, directory, cluster, events, clock } = deps;
  const device = registry.findDevice(deviceId);
  const refused = deps.refusedLogins.list({ deviceId });
  if (device === null) return missingDevice(deviceId, refused);
  const connections =
    cluster === null ? observeHere(deps, deviceId) : await observeTogether(cluster, directory, deviceId);
  return describeDevice(device, connections, refused, events.recentOf(deviceId), clock.wallMs());
}

/** A device that tries to log in although it is missing is worth adding. */
function missingDevice(deviceId: DeviceId, [latest]: readonly RefusedLogin[]): AdminRefusal {
  const missing = missingEntry({ kind: 'device', id: deviceId });
  if (latest === undefined) return missing;
  const { connection, reason, count, lastAtMs } = latest;
  const times = count === 1 ? 'once' : `${count} times, the last`;
  const trace = `it was refused as ${reason} at the ${connection} port ${times} at ${formatTimestamp(lastAtMs)}`;
  return refuse(missing.status, `${missing.error}; ${trace}`);
}

async function kick(deps: DeviceRoutesDeps, deviceId: DeviceId): Promise<AdminAnswer> {
  const sessions = await disconnectEverywhere(deps, deviceId);
  if (sessions.length === 0 && deps.registry.findDevice(deviceId) === null)
    return missingEntry({ kind: 'device', id: deviceId });
  return { kicked: sessions.length > 0, sessions };
}

async function bothCommitted(deps: DeviceRoutesDeps, deviceId: DeviceId): Promise<void> {
  await deps.signalRecords.committed(deviceId);
  await deps.sleepRecords.committed(deviceId);
}

export interface ObservedConnection {
  readonly record: ConnectionRecord;
  readonly isHeld: boolean;
  /** Unix seconds of the latest heartbeat on the socket; 0: none, or no socket. */
  readonly heartbeatAt: number;
}

export type ObservedConnections = Readonly<Record<ConnectionKind, ObservedConnection>>;

export interface ObservedHere {
  readonly directory: Pick<DeviceDirectory, 'find'>;
  readonly signalRecords: Pick<ConnectionRecords, 'read'>;
  readonly sleepRecords: Pick<ConnectionRecords, 'read'>;
}

export function observeHere(
  { directory, signalRecords, sleepRecords }: ObservedHere,
  deviceId: DeviceId,
): ObservedConnections {
  const actor = directory.find(deviceId);
  const connection = (kind: ConnectionKind, records: ObservedHere['sleepRecords']): ObservedConnection => ({
    record: records.read(deviceId) ?? neverConnected,
    isHeld: actor !== null && actor.epoch(kind) > 0,
    heartbeatAt: actor?.heartbeatAt(kind) ?? 0,
  });
  return { signal: connection('signal', signalRecords), sleep: connection('sleep', sleepRecords) };
}

export function recordIn({ slots, ...row }: SharedConnection): ConnectionRecord {
  const { epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt } = row;
  return { epoch, openSession: slots.at(-1)?.session ?? null, lastLoginAt, lastHeartbeatAt, lastOfflineAt };
}

type Heartbeat = SessionHeartbeat | null;

/** Settles within 2 s. Rejects if the shared rows are unavailable or the store cannot be read. */
async function observeTogether(
  { peers, locator }: ClusterDeps,
  directory: DeviceDirectory,
  deviceId: DeviceId,
): Promise<ObservedConnections> {
  const row = await locator.find(deviceId, ownerQueryMsMax);
  const observe = async (kind: ConnectionKind): Promise<ObservedConnection> => {
    const slot = row[kind].slots.at(-1);
    if (slot === undefined) return observed(row[kind], null);
    if (slot.member === peers.self) return observed(row[kind], ownHeartbeat(directory, deviceId, kind));
    const asked = await peers.ask<'heartbeats'>(
      slot.member,
      { kind: 'heartbeats', deviceIds: [deviceId] },
      ownerQueryMsMax,
    );
    return observed(row[kind], asked.ok ? (asked.value[0]?.[kind] ?? null) : null);
  };
  const [sleep, signal] = await Promise.all([observe('sleep'), observe('signal')]);
  return { sleep, signal };
}

function ownHeartbeat(directory: DeviceDirectory, deviceId: DeviceId, kind: ConnectionKind): Heartbeat {
  const actor = directory.find(deviceId);
  if (actor === null) return null;
  const session = actor.session(kind);
  const heartbeatAt = actor.heartbeatAt(kind);
  return session === null ? null : { session, heartbeatAt };
}

/** `heartbeat`: the member's answer for the newest session; null: none. */
function observed(row: SharedConnection, heartbeat: Heartbeat): ObservedConnection {
  const record = recordIn(row);
  const isHeld = heartbeat !== null && heartbeat.session === record.openSession;
  return { record, isHeld, heartbeatAt: isHeld ? heartbeat.heartbeatAt : 0 };
}

export type DeviceStatus = ReturnType<typeof describeDevice>;

/** `transitions`: the device's latest events, newest first. */
function describeDevice(
  { deviceId, productId, disabled, expiresAt, labels = {} }: Device,
  { signal, sleep }: ObservedConnections,
  refused: readonly RefusedLogin[],
  latest: readonly LoggedEvent[],
  nowMs: number,
) {
  const expired = isExpired({ expiresAt }, Math.floor(nowMs / 1000));
  return {
    // Wall clock of the answering process, the reference for ages.
    now_ms: nowMs,
    device: { device_id: deviceId, product_id: productId, disabled, expires_at: expiresAt, expired, labels },
    signal: describeConnection(signal, latest, 'device.signal.'),
    sleep: describeConnection(sleep, latest, 'device.sleep.'),
    // Since the start of the core, the latest first.
    refused: refused.map(encodeRefused),
    transitions: latest.map(wireEvent),
  };
}

export type ConnectionStatus = ReturnType<typeof describeConnection>;

function describeConnection(
  { record, isHeld, heartbeatAt }: ObservedConnection,
  latest: readonly LoggedEvent[],
  types: 'device.signal.' | 'device.sleep.',
) {
  const { epoch, openSession, lastLoginAt, lastHeartbeatAt, lastOfflineAt } = record;
  const event = latest.find((each) => each.epoch === epoch && each.type.startsWith(types));
  const data = event?.data as { readonly node?: string; readonly reason?: string } | undefined;
  return {
    state: stateOf(record, isHeld),
    // The session that is open or lost.
    session: openSession,
    epoch,
    // The node of the latest session; null: unknown.
    node: data?.node ?? null,
    // The reason why the latest session ended; null: it is open, or the reason is no longer known.
    reason: openSession === null ? (data?.reason ?? null) : null,
    last_login_at: lastLoginAt,
    last_heartbeat_at: heartbeatAt || lastHeartbeatAt,
    last_offline_at: lastOfflineAt,
  };
}

/** `lost`: the session was open when the server died; the next start ends it. */
function stateOf(
  { epoch, openSession }: ConnectionRecord,
  isHeld: boolean,
): 'open' | 'closed' | 'lost' | 'never' {
  if (epoch === 0) return 'never';
  if (openSession === null) return 'closed';
  return isHeld ? 'open' : 'lost';
}
