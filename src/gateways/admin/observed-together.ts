/** A device's connections as an operator is shown them where several members are one server: by its newest session. */
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ConnectionKind, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import type { PeerAnswer } from '../../model/peer.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { ObservedConnection } from './device-status.ts';

type Heartbeat = PeerAnswer<'heartbeats'>[ConnectionKind];

/** Settles within 2 s. Rejects when what is shared is away, or the store cannot be read. */
export async function observeTogether(
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
  const session = kind === 'sleep' ? actor.sleepSession : actor.signalSession;
  const heartbeatAt = kind === 'sleep' ? actor.sleepHeartbeatAt : actor.signalHeartbeatAt;
  return session === null ? null : { session, heartbeatAt };
}

/** `beat`: what its member says of the newest session; null: nothing. */
function observed(row: SharedConnection, heartbeat: Heartbeat): ObservedConnection {
  const openSession = row.slots.at(-1)?.session ?? null;
  const isHeld = heartbeat !== null && heartbeat.session === openSession;
  const { epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt } = row;
  const record = { epoch, openSession, lastLoginAt, lastHeartbeatAt, lastOfflineAt };
  return { record, isHeld, heartbeatAt: isHeld ? heartbeat.heartbeatAt : 0 };
}
