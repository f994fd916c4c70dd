/**
 * What becomes of this member's sessions by what all members share: they are known by the epoch that all know, whom they
 * have displaced is told, and one that has lost its seat is closed. Source: cluster.md, Ownership.
 */
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { SlotFollower, SlotLost, SlotClaimed } from '../../core/ports/slot-follower.ts';

interface SlotReconcilerDeps {
  readonly directory: DeviceDirectory;
  readonly peers: Pick<Peers, 'self' | 'notify'>;
  readonly telemetry: Pick<Telemetry, 'slot'>;
}

export class SlotReconciler implements SlotFollower {
  readonly #deps: SlotReconcilerDeps;

  constructor(deps: SlotReconcilerDeps) {
    this.#deps = deps;
  }

  taken(slot: SlotClaimed): void {
    const { directory, peers, telemetry } = this.#deps;
    telemetry.slot('taken');
    const { connection, deviceId, superseded } = slot;
    directory.find(deviceId)?.adopt(slot);
    // A session of this member's own was closed when the next one of its device was let in.
    for (const { member, session } of superseded)
      if (member !== peers.self) peers.notify(member, { kind: 'superseded', connection, deviceId, session });
  }

  lost({ connection, deviceId, session }: SlotLost): void {
    this.#deps.telemetry.slot('lost');
    this.#deps.directory.displace(connection, deviceId, session);
  }
}
