/** Where devices are, as the rows in NATS say. Source: cluster.md, Ownership and Record. */
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { DeviceRow, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { SharedStateAway, type Whereabouts } from '../../core/ports/whereabouts.ts';
import { answeredWithin } from '../ipc/answered-within.ts';
import type { BeatReader } from '../ownership/beat-reader.ts';
import type { DeviceRows } from './device-rows.ts';

export class NatsWhereabouts implements Whereabouts {
  readonly #rows: DeviceRows;
  readonly #beats: BeatReader;
  readonly #clock: Clock;
  readonly #isAway: () => boolean;

  constructor(rows: DeviceRows, beats: BeatReader, clock: Clock, isAway: () => boolean) {
    this.#rows = rows;
    this.#beats = beats;
    this.#clock = clock;
    this.#isAway = isAway;
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
    const beats = row.seats.map(({ member, session }) => this.#beats.heartbeatOf(member, deviceId, session));
    const latest = Math.max(row.lastHeartbeatAt ?? 0, ...(await Promise.all(beats)));
    return latest === 0 ? row : { ...row, lastHeartbeatAt: latest };
  }

  #within(waitMs: number, read: () => Promise<DeviceRow>): Promise<DeviceRow> {
    if (this.#isAway()) return Promise.reject(new SharedStateAway('NATS is away'));
    const rows = read().catch((error: unknown) => {
      throw new SharedStateAway(messageOf(error));
    });
    return answeredWithin(this.#clock, waitMs, rows);
  }
}
