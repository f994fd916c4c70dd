/**
 * What becomes of this member's sessions by what all members share: they are known by the epoch that all know, whom they
 * have displaced is told, and one that has lost its seat is closed. Source: cluster.md, Ownership.
 */
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { SeatFollower, SeatLost, SeatTaken } from '../../core/ports/seat-follower.ts';

interface SeatsHouse {
  readonly directory: DeviceDirectory;
  readonly peers: Pick<Peers, 'self' | 'tell'>;
  readonly telemetry: Pick<Telemetry, 'seat'>;
}

export class SeatKeeper implements SeatFollower {
  readonly #house: SeatsHouse;

  constructor(house: SeatsHouse) {
    this.#house = house;
  }

  taken(seat: SeatTaken): void {
    const { directory, peers, telemetry } = this.#house;
    telemetry.seat('taken');
    const { connection, deviceId, displaced } = seat;
    directory.find(deviceId)?.adopt(seat);
    // A session of this member's own was closed when the next one of its device was let in.
    for (const { member, session } of displaced)
      if (member !== peers.self) peers.tell(member, { kind: 'displaced', connection, deviceId, session });
  }

  lost({ connection, deviceId, session }: SeatLost): void {
    this.#house.telemetry.seat('lost');
    this.#house.directory.displace(connection, deviceId, session);
  }
}
