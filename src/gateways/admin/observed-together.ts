/** A device's connections as an operator is shown them where several members are one server: by its newest session. */
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ConnectionKind, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import type { PeerAnswer } from '../../model/peer.ts';
import type { ClusterHouse } from '../../core/devices/locate-device.ts';
import type { ObservedConnection } from './device-status.ts';

type Beat = PeerAnswer<'beats'>[ConnectionKind];

/** Settles within 2 s. Rejects when what is shared is away, or the store cannot be read. */
export async function observeTogether(
  { peers, whereabouts }: ClusterHouse,
  directory: DeviceDirectory,
  deviceId: DeviceId,
): Promise<Readonly<Record<ConnectionKind, ObservedConnection>>> {
  const row = await whereabouts.find(deviceId, ownerQueryMsMax);
  const observe = async (kind: ConnectionKind): Promise<ObservedConnection> => {
    const seat = row[kind].seats.at(-1);
    if (seat === undefined) return observed(row[kind], null);
    if (seat.member === peers.self) return observed(row[kind], ownBeat(directory, deviceId, kind));
    const asked = await peers.ask<'beats'>(seat.member, { kind: 'beats', deviceId }, ownerQueryMsMax);
    return observed(row[kind], asked.ok ? asked.value[kind] : null);
  };
  const [sleep, signal] = await Promise.all([observe('sleep'), observe('signal')]);
  return { sleep, signal };
}

function ownBeat(directory: DeviceDirectory, deviceId: DeviceId, kind: ConnectionKind): Beat {
  const actor = directory.find(deviceId);
  if (actor === null) return null;
  const session = kind === 'sleep' ? actor.sleepSession : actor.signalSession;
  const heartbeatAt = kind === 'sleep' ? actor.sleepHeartbeatAt : actor.signalHeartbeatAt;
  return session === null ? null : { session, heartbeatAt };
}

/** `beat`: what its member says of the newest session; null: nothing. */
function observed(row: SharedConnection, beat: Beat): ObservedConnection {
  const openSession = row.seats.at(-1)?.session ?? null;
  const isHeld = beat !== null && beat.session === openSession;
  const { epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt } = row;
  const record = { epoch, openSession, lastLoginAt, lastHeartbeatAt, lastOfflineAt };
  return { record, isHeld, heartbeatAt: isHeld ? beat.heartbeatAt : 0 };
}
