/**
 * Logins that wait for their epoch in what all members share. Each waits for `claimMsMax` at most, and none while NATS is
 * away: its epoch is provisional then. Source: cluster.md, Without NATS.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { claimMsMax } from '../../model/limits.ts';
import type { ConnectionRecord } from '../../model/connectivity.ts';
import type { SessionTransition } from '../../model/state/session-event.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';

interface PendingClaim {
  readonly session: SessionId;
  readonly done: Promise<void>;
  readonly end: () => void;
}

export class PendingClaims {
  readonly #clock: Clock;
  readonly #isUnavailable: () => boolean;
  /** As many as log in within `claimMsMax`. */
  readonly #claims = {
    sleep: new Map<DeviceId, PendingClaim>(),
    signal: new Map<DeviceId, PendingClaim>(),
  };

  constructor(clock: Clock, isUnavailable: () => boolean) {
    this.#clock = clock;
    this.#isUnavailable = isUnavailable;
  }

  /** A session has logged in here. An earlier one of the device has nothing left to wait for. */
  expect(connection: ConnectionKind, deviceId: DeviceId, session: SessionId): void {
    const claims = this.#claims[connection];
    claims.get(deviceId)?.end();
    if (this.#isUnavailable()) return;
    const { promise: done, resolve } = deferred();
    const cancel: Cancel = this.#clock.after(claimMsMax, () => this.settle(connection, deviceId, session));
    const end = (): void => {
      cancel();
      claims.delete(deviceId);
      resolve();
    };
    claims.set(deviceId, { session, done, end });
  }

  settle(connection: ConnectionKind, deviceId: DeviceId, session: SessionId): void {
    const claim = this.#claims[connection].get(deviceId);
    if (claim?.session === session) claim.end();
  }

  /** NATS is unavailable. */
  settleAll(): void {
    for (const claims of Object.values(this.#claims)) for (const claim of claims.values()) claim.end();
  }

  /** Of the device's latest login; null: it waits for nothing. Never rejects. */
  settled(connection: ConnectionKind, deviceId: DeviceId): Promise<void> | null {
    return this.#claims[connection].get(deviceId)?.done ?? null;
  }
}

/** A node's records of one kind of connection, whose logins are committed when all members know them, too. */
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

  ids(first: string, last: string): readonly string[] {
    return this.#records.ids(first, last);
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
