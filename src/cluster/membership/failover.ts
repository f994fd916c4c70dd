/**
 * Ends the sessions of a lost member: those that it wrote down last, and those in rows that have changed since. Each is
 * ended once, however many members do so and however often, and none that was claimed since the failover began: a member
 * that stops halfway does no harm. Source: cluster.md, Node loss.
 */
import { decodeDeviceRow, type DeviceHeartbeat } from '../../protocol/cluster/stored-values.ts';
import {
  connectionKinds,
  type ConnectionKind,
  type DeviceRow,
  type MemberId,
  type SessionSlot,
  type FailedOverSlot,
  type MarkedEvent,
  type SharedConnection,
} from '../../model/cluster.ts';
import type { SessionId, DeviceId } from '../../model/ids.ts';
import type { HeartbeatReader } from '../ownership/written-heartbeats.ts';
import { inTwo, type KeyedQueue } from '../nats/keyed-queue.ts';
import { RowUnreadable, type DeviceRows } from '../records/device-rows.ts';
import { eachBounded } from '../nats/each-bounded.ts';
import { lostEvents, type PublishingDeps } from '../events/made-events.ts';
import type { KvStore } from '../nats/kv-store.ts';
import { lookedAtOnceMax } from '../records/row-limits.ts';
import { reduceShared, type SharedStep } from '../../model/state/shared-connection.ts';
import { failedOverSlotsMax } from '../../model/limits.ts';

export interface FailoverDeps extends PublishingDeps {
  readonly rows: DeviceRows;
  readonly kv: Pick<KvStore, 'since'>;
  readonly heartbeats: HeartbeatReader;
  readonly queue: KeyedQueue;
}

/** The slots to end, by session. As many as the lost member had. */
type LostSlots = Map<SessionId, LostSlot>;

export class Failover {
  readonly #deps: FailoverDeps;

  constructor(deps: FailoverDeps) {
    this.#deps = deps;
  }

  /** Resolves when nothing of it is left. Rejects while NATS is unavailable; call it again then. */
  async failOver(member: MemberId): Promise<void> {
    const { heartbeats, log } = this.#deps;
    const slots = await this.#slotsOf(member);
    await eachBounded(slots.values(), lookedAtOnceMax, (lost) => this.#end(lost));
    await heartbeats.remove(member);
    log.info({ member, sessions: slots.size }, 'sessions of a lost member are closed');
  }

  /** Reads all rows where the member had written nothing down. */
  async #slotsOf(member: MemberId): Promise<LostSlots> {
    const { heartbeats, kv } = this.#deps;
    const slots: LostSlots = new Map();
    const written: DeviceHeartbeat[] = [];
    let position = Infinity;
    for await (const part of heartbeats.parts(member)) {
      for (const heartbeat of part.heartbeats) written.push(heartbeat);
      position = Math.min(position, part.position);
    }
    await eachBounded(written, lookedAtOnceMax, (heartbeat) => this.#find(heartbeat, slots));
    for await (const { value } of kv.since(position === Infinity ? 0 : position)) {
      const decoded = decodeDeviceRow(value);
      if (!decoded.ok) continue;
      const { deviceId, row } = decoded.value;
      for (const connection of connectionKinds)
        for (const slot of slotsIn(row, connection))
          if (slot.member === member && !slots.has(slot.session))
            slots.set(slot.session, { deviceId, connection, slot, heartbeatAt: 0 });
    }
    return slots;
  }

  async #find(
    { deviceId, connection, session, heartbeatAt }: DeviceHeartbeat,
    slots: LostSlots,
  ): Promise<void> {
    const { rows, log } = this.#deps;
    try {
      const slot = slotsIn(await rows.find(deviceId), connection).find((other) => other.session === session);
      if (slot !== undefined) slots.set(session, { deviceId, connection, slot, heartbeatAt });
    } catch (error) {
      if (!(error instanceof RowUnreadable)) throw error;
      log.error({ err: error, device_id: deviceId }, 'a session of a lost member is left as it is');
    }
  }

  /** Queued behind this member's own changes of the device. */
  #end(lost: LostSlot): Promise<void> {
    const { rows, clock, queue, events, publish } = this.#deps;
    const marked = { id: events.id(), atMs: clock.wallMs() };
    const share = () => failOverSlot(rows, lost, marked);
    const notify = inTwo(share, async (failedOver) => {
      for (const event of lostEvents(lost, failedOver)) await publish(events.of(event));
    });
    return queue.perform(lost.deviceId, notify);
  }
}

/** Slots in use, then slots failed over before: the newest of a session first. */
function slotsIn(row: DeviceRow, connection: ConnectionKind): SessionSlot[] {
  const failedOver = failedOverIn(row[connection]).map(({ slot }) => slot);
  return [...row[connection].slots, ...failedOver.toReversed()];
}

interface LostSlot {
  readonly deviceId: DeviceId;
  readonly connection: ConnectionKind;
  /** As it was found: one that was claimed again since is another. */
  readonly slot: SessionSlot;
  /** Unix seconds; 0: none. */
  readonly heartbeatAt: number;
}

/**
 * Null: it was not failed over, or longer ago than is kept. The row keeps the event of it: the next member that fails it over,
 * where the first one died on the way, publishes the same event, once. Rejects like a change of a row; may be called again.
 */
async function failOverSlot(
  rows: DeviceRows,
  lost: LostSlot,
  marked: MarkedEvent,
): Promise<FailedOverSlot | null> {
  const { deviceId, connection, slot } = lost;
  const { row } = await rows.change(deviceId, connection, (found) => strike(found, lost, marked));
  return failedOverIn(row).find((failedOver) => isSame(failedOver.slot, slot)) ?? null;
}

function failedOverIn({ failedOver }: SharedConnection): readonly FailedOverSlot[] {
  return failedOver ?? [];
}

function strike(row: SharedConnection, lost: LostSlot, { id, atMs }: MarkedEvent): SharedStep {
  const { connection, heartbeatAt } = lost;
  const slot = row.slots.find((other) => isSame(other, lost.slot));
  if (slot === undefined) return { row, outcome: { kind: 'unmoved' } };
  const { session } = slot;
  const step = reduceShared(connection, row, { kind: 'ended', session, atMs, heartbeatAt });
  const failedOver = [...failedOverIn(row), { id, atMs, slot }].slice(-failedOverSlotsMax);
  return { ...step, row: { ...step.row, failedOver } };
}

function isSame(one: SessionSlot, other: SessionSlot): boolean {
  return one.session === other.session && one.epoch === other.epoch;
}
