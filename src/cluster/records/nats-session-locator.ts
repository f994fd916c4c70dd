/** The session locator over the rows in NATS. Source: cluster.md, Ownership and Record. */
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import type { DeviceRow, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { SharedStateUnavailable, type SessionLocator } from '../../core/ports/session-locator.ts';
import { answeredWithin } from '../nats/answered-within.ts';
import type { HeartbeatReader } from '../ownership/written-heartbeats.ts';
import type { DeviceRows } from './device-rows.ts';

export class NatsSessionLocator implements SessionLocator {
  readonly #rows: DeviceRows;
  readonly #heartbeats: HeartbeatReader;
  readonly #clock: Clock;
  readonly #isUnavailable: () => boolean;

  constructor(rows: DeviceRows, heartbeats: HeartbeatReader, clock: Clock, isUnavailable: () => boolean) {
    this.#rows = rows;
    this.#heartbeats = heartbeats;
    this.#clock = clock;
    this.#isUnavailable = isUnavailable;
  }

  find(deviceId: DeviceId, waitMs: number): Promise<DeviceRow> {
    return this.#within(waitMs, () => this.#rows.find(deviceId));
  }

  findKept(deviceId: DeviceId, waitMs: number): Promise<DeviceRow> {
    return this.#within(waitMs, async () => {
      const { sleep, signal } = await this.#rows.find(deviceId);
      return { sleep: await this.#heard(deviceId, sleep), signal: await this.#heard(deviceId, signal) };
    });
  }

  async #heard(deviceId: DeviceId, row: SharedConnection): Promise<SharedConnection> {
    const heartbeats = row.slots.map(({ member, session }) =>
      this.#heartbeats.heartbeatOf(member, deviceId, session),
    );
    const latest = Math.max(row.lastHeartbeatAt ?? 0, ...(await Promise.all(heartbeats)));
    return latest === 0 ? row : { ...row, lastHeartbeatAt: latest };
  }

  #within(waitMs: number, read: () => Promise<DeviceRow>): Promise<DeviceRow> {
    if (this.#isUnavailable()) return Promise.reject(new SharedStateUnavailable('NATS is away'));
    const rows = read().catch((error: unknown) => {
      throw new SharedStateUnavailable(messageOf(error));
    });
    return answeredWithin(this.#clock, waitMs, rows);
  }
}
