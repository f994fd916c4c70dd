/**
 * Logins that wait for their epoch in what all members share. Each waits for `claimMsMax` at most, and none while NATS is
 * away: its epoch is provisional then. Source: cluster.md, Without NATS.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { claimMsMax } from '../../model/limits.ts';

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
    let resolve = (): void => undefined;
    const done = new Promise<void>((settle) => (resolve = settle));
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
