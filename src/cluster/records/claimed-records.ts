/** A node's records of one kind of connection, whose logins are committed when all members know them, too. */
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { SessionTransition } from '../../model/state/session-event.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { PendingClaims } from '../ownership/pending-claims.ts';

export class ClaimedRecords implements ConnectionRecords {
  readonly #records: ConnectionRecords;
  readonly #connection: ConnectionKind;
  readonly #claims: PendingClaims;

  constructor(records: ConnectionRecords, connection: ConnectionKind, claims: PendingClaims) {
    this.#records = records;
    this.#connection = connection;
    this.#claims = claims;
  }

  read(deviceId: DeviceId): ConnectionRecord | null {
    return this.#records.read(deviceId);
  }

  write(deviceId: DeviceId, record: ConnectionRecord, transition: SessionTransition | null): void {
    // Before it is written: its claim is never settled before it is expected.
    if (transition?.kind === 'login') this.#claims.expect(this.#connection, deviceId, transition.session);
    this.#records.write(deviceId, record, transition);
  }

  /** The same, and the claim of the device's latest login is settled, or was waited for long enough. */
  committed(deviceId: DeviceId): Promise<void> | null {
    const written = this.#records.committed(deviceId);
    const claimed = this.#claims.settled(this.#connection, deviceId);
    if (claimed === null) return written;
    return written === null ? claimed : written.then(() => claimed);
  }

  allCommitted(): Promise<void> {
    return this.#records.allCommitted();
  }
}
