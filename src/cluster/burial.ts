/**
 * The sessions of a lost member, ended for it: those that it wrote down last, and those in rows that have changed since.
 * Each is ended once, whoever buries and however often. Source: cluster.md, Node loss.
 */
import type { Clock } from '../base/clock.ts';
import { decodeDeviceRow, type DeviceBeat } from '../cluster-wire/stored-values.ts';
import type { ConnectionKind, MemberId } from '../domain/cluster.ts';
import type { EventDraft } from '../domain/events.ts';
import type { DeviceId, SessionId } from '../domain/ids.ts';
import type { Log } from '../ports/log.ts';
import type { OutboxEvent } from '../ports/outbox.ts';
import type { BeatReader } from './beat-reader.ts';
import { inTwo, type ChangeLanes } from './change-lanes.ts';
import type { DeviceRows } from './device-rows.ts';
import { eachBounded } from './each-bounded.ts';
import type { MadeEvents } from './made-events.ts';
import type { RowBucket } from './row-bucket.ts';
import { lookedAtOnceMax } from './row-limits.ts';
import { SeatEnd } from './seat-end.ts';

export interface BurialHouse {
  readonly clock: Clock;
  readonly log: Log;
  readonly rows: DeviceRows;
  readonly bucket: Pick<RowBucket, 'since'>;
  readonly beats: BeatReader;
  readonly lanes: ChangeLanes;
  readonly events: MadeEvents;
  readonly publish: (event: OutboxEvent) => Promise<void>;
}

const connections = ['sleep', 'signal'] as const;

export class Burial {
  readonly #house: BurialHouse;

  constructor(house: BurialHouse) {
    this.#house = house;
  }

  /** Resolves when nothing of it is left. Rejects while NATS is away, and is to be called again then. */
  async bury(member: MemberId): Promise<void> {
    const { bucket, beats, log } = this.#house;
    let ended = 0;
    const end = async (beat: DeviceBeat): Promise<void> => {
      if (await this.#end(member, beat)) ended += 1;
    };
    const written = await this.#written(member);
    await eachBounded(written.beats, lookedAtOnceMax, end);
    await eachBounded(seatsOf(member, bucket.since(written.position)), lookedAtOnceMax, end);
    await beats.remove(member);
    log.info({ member, sessions: ended }, 'sessions of a lost member are closed');
  }

  /** Without anything written down all rows are looked at. */
  async #written(member: MemberId): Promise<{ readonly position: number; readonly beats: DeviceBeat[] }> {
    const found: DeviceBeat[] = [];
    let position = Infinity;
    for await (const part of this.#house.beats.parts(member)) {
      for (const beat of part.beats) found.push(beat);
      position = Math.min(position, part.position);
    }
    return { position: position === Infinity ? 0 : position, beats: found };
  }

  /** True: it had its seat. Behind what this member itself has to say of the device. */
  async #end(member: MemberId, { deviceId, connection, session, heartbeatAt }: DeviceBeat): Promise<boolean> {
    const { rows, clock, lanes, events, publish } = this.#house;
    const atMs = clock.wallMs();
    const end = new SeatEnd(rows, { deviceId, connection, session, atMs, heartbeatAt, isRepeat: false });
    let isEnded = false;
    const share = async (): Promise<OutboxEvent | null> => {
      const epoch = await end.settle();
      if (epoch === null) return null;
      isEnded = true;
      return events.make(lostEvent(connection, deviceId, session, nodeOf(member), atMs, epoch));
    };
    await lanes.perform(deviceId, inTwo(share, publish));
    return isEnded;
  }
}

async function* seatsOf(
  member: MemberId,
  rows: AsyncIterable<{ readonly bytes: Uint8Array }>,
): AsyncGenerator<DeviceBeat, void, undefined> {
  for await (const { bytes } of rows) {
    const decoded = decodeDeviceRow(bytes);
    if (!decoded.ok) continue;
    const { deviceId, row } = decoded.value;
    for (const connection of connections)
      for (const { member: owner, session } of row[connection].seats)
        if (owner === member) yield { deviceId, connection, session, heartbeatAt: 0 };
  }
}

function lostEvent(
  connection: ConnectionKind,
  deviceId: DeviceId,
  session: SessionId,
  node: string,
  atMs: number,
  epoch: number,
): EventDraft {
  const type = connection === 'sleep' ? 'device.sleep.offline' : 'device.signal.offline';
  return { type, data: { session, node, reason: 'node_lost' }, deviceId, atMs, epoch };
}

function nodeOf(member: MemberId): string {
  return member.slice(0, member.lastIndexOf('/'));
}
