/**
 * A device of the running server: `GET /v1/device/status?device_id=…` describes it, `POST /v1/device/kick` ends its sessions.
 * Where several members are one server, its connections are described by their newest session.
 */
import { settlesWithin } from '../../lib/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ConnectionKind, SharedConnection } from '../../model/cluster.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { z } from 'zod';
import { deviceIdField } from './registry-routes.ts';
import { disconnectEverywhere, type DisconnectDeps } from '../../cluster/ownership/disconnect-everywhere.ts';
import { changeRoute, type AdminReply, type AdminRoute } from '../ops/admin-route.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import { describeDevice, type DeviceStatus, type ObservedConnection } from './device-status.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import type { PeerAnswer } from '../../model/peer.ts';

export interface DeviceRoutesDeps extends DisconnectDeps {
  readonly registry: RegistryReader;
  readonly signalRecords: ConnectionRecords;
  readonly sleepRecords: ConnectionRecords;
  readonly events: EventLog;
}

const kickBody = z.strictObject({ device_id: deviceIdField });

export function deviceRoutes(deps: DeviceRoutesDeps): readonly AdminRoute[] {
  return [
    { method: 'GET', path: '/v1/device/status', handle: ({ query }) => describe(deps, query) },
    changeRoute(
      '/v1/device/kick',
      kickBody,
      { action: 'device.kick', asked: ['device_id'], answered: { kicked: 'kicked' } },
      (body) => kick(deps, body.device_id),
    ),
  ];
}

/** How long an answer waits for the commit of what it describes; a store that takes nothing must not hide the rest. */
const commitMsMax = 2000;

async function describe(deps: DeviceRoutesDeps, query: URLSearchParams): Promise<AdminReply> {
  const deviceId = parseDeviceId(query.get('device_id') ?? '');
  if (deviceId === null) return { status: 400, body: { error: 'device_id: 1-255 bytes of valid UTF-8' } };
  await settlesWithin(deps.clock, commitMsMax, bothCommitted(deps, deviceId));
  const { registry, directory, cluster, events } = deps;
  const device = registry.findDevice(deviceId);
  if (device === null)
    return { status: 404, body: { error: `no device ${JSON.stringify(deviceId)} in the registry` } };
  const connections =
    cluster === null ? observe(deps, deviceId) : await observeTogether(cluster, directory, deviceId);
  const body: DeviceStatus = describeDevice({ device, events, nowMs: deps.clock.wallMs(), ...connections });
  return { status: 200, body };
}

async function kick(deps: DisconnectDeps, deviceId: DeviceId): Promise<AdminReply> {
  const sessions = await disconnectEverywhere(deps, deviceId);
  return { status: 200, body: { kicked: sessions.length > 0, sessions } };
}

async function bothCommitted(deps: DeviceRoutesDeps, deviceId: DeviceId): Promise<void> {
  await deps.signalRecords.committed(deviceId);
  await deps.sleepRecords.committed(deviceId);
}

function observe(deps: DeviceRoutesDeps, deviceId: DeviceId): Record<ConnectionKind, ObservedConnection> {
  const actor = deps.directory.find(deviceId);
  return {
    signal: {
      record: deps.signalRecords.read(deviceId),
      isHeld: actor !== null && actor.epoch('signal') > 0,
      heartbeatAt: actor?.heartbeatAt('signal') ?? 0,
    },
    sleep: {
      record: deps.sleepRecords.read(deviceId),
      isHeld: actor !== null && actor.epoch('sleep') > 0,
      heartbeatAt: actor?.heartbeatAt('sleep') ?? 0,
    },
  };
}

type Heartbeat = PeerAnswer<'heartbeats'>[ConnectionKind];

/** Settles within 2 s. Rejects when the shared rows are unavailable, or the store cannot be read. */
async function observeTogether(
  { peers, locator }: ClusterDeps,
  directory: DeviceDirectory,
  deviceId: DeviceId,
): Promise<Readonly<Record<ConnectionKind, ObservedConnection>>> {
  const row = await locator.find(deviceId, ownerQueryMsMax);
  const observe = async (kind: ConnectionKind): Promise<ObservedConnection> => {
    const slot = row[kind].slots.at(-1);
    if (slot === undefined) return observed(row[kind], null);
    if (slot.member === peers.self) return observed(row[kind], ownHeartbeat(directory, deviceId, kind));
    const asked = await peers.ask<'heartbeats'>(
      slot.member,
      { kind: 'heartbeats', deviceId },
      ownerQueryMsMax,
    );
    return observed(row[kind], asked.ok ? asked.value[kind] : null);
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

/** `heartbeat`: the answer of its member about the newest session; null: none. */
function observed(row: SharedConnection, heartbeat: Heartbeat): ObservedConnection {
  const openSession = row.slots.at(-1)?.session ?? null;
  const isHeld = heartbeat !== null && heartbeat.session === openSession;
  const { epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt } = row;
  const record = { epoch, openSession, lastLoginAt, lastHeartbeatAt, lastOfflineAt };
  return { record, isHeld, heartbeatAt: isHeld ? heartbeat.heartbeatAt : 0 };
}
