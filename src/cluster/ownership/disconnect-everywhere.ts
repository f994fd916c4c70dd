/** Ends a device's sessions from our side at every member that has one. Source: cluster.md, Route. */
import type { DeviceActor } from '../../core/devices/device-actor.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { ConnectionKind, DeviceRow } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import { disconnectDevice } from '../../core/devices/disconnect-device.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';

export interface DisconnectDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly directory: DeviceDirectory;
  /** Null: alone. */
  readonly cluster: ClusterDeps | null;
}

const kinds: readonly ConnectionKind[] = ['signal', 'sleep'];

/**
 * The kinds of session that are ended, at whichever members: what cannot be reached is not. Settles within 2 s and never
 * rejects.
 */
export async function disconnectEverywhere(
  deps: DisconnectDeps,
  deviceId: DeviceId,
): Promise<readonly ConnectionKind[]> {
  const { cluster, directory } = deps;
  const ended = new Set(sessionsOf(directory.find(deviceId)));
  disconnectDevice(deps, deviceId, 'kicked');
  const row = cluster === null ? null : await findRow(deps, cluster, deviceId);
  if (cluster !== null && row !== null)
    for (const kind of await disconnectOthers(cluster, deviceId, row)) ended.add(kind);
  return kinds.filter((kind) => ended.has(kind));
}

function sessionsOf(actor: DeviceActor | null): ConnectionKind[] {
  return actor === null ? [] : kinds.filter((kind) => actor.session(kind) !== null);
}

/** Null: it cannot be read. */
async function findRow(
  { log }: DisconnectDeps,
  { locator }: ClusterDeps,
  deviceId: DeviceId,
): Promise<DeviceRow | null> {
  try {
    return await locator.find(deviceId, ownerQueryMsMax);
  } catch (error) {
    log.warn({ err: error }, 'where a device is to be ended cannot be told');
    return null;
  }
}

async function disconnectOthers(
  { peers }: ClusterDeps,
  deviceId: DeviceId,
  row: DeviceRow,
): Promise<ConnectionKind[]> {
  const slots = kinds.flatMap((kind) => row[kind].slots.map(({ member }) => ({ kind, member })));
  const members = new Set(slots.map(({ member }) => member));
  members.delete(peers.self);
  const asked = await Promise.all(
    Array.from(members, async (member) => {
      const answer = await peers.ask<'disconnect'>(member, { kind: 'disconnect', deviceId }, ownerQueryMsMax);
      return answer.ok && answer.value ? slots.filter((slot) => slot.member === member) : [];
    }),
  );
  return asked.flat().map(({ kind }) => kind);
}
