/**
 * Applies the shared rows to this member's sessions: they take the epoch that all members know, the members of the sessions
 * that they superseded are notified, and one that has lost its slot is closed. Source: cluster.md, Ownership.
 */
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { SlotFollower } from '../../core/ports/session-locator.ts';

export function reconcileSlots(
  directory: DeviceDirectory,
  peers: Pick<Peers, 'self' | 'notify'>,
): SlotFollower {
  return {
    claimed(slot) {
      const { connection, deviceId, superseded } = slot;
      directory.find(deviceId)?.adopt(slot);
      // A session of this member's own was closed when the next one of its device was let in.
      for (const { member, session } of superseded)
        if (member !== peers.self)
          peers.notify(member, { kind: 'superseded', connection, deviceId, session });
    },
    lost: ({ connection, deviceId, session }) => directory.supersede(connection, deviceId, session),
  };
}
