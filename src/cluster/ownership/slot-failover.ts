/**
 * The end of one slot of a lost member, in what all members share. The row keeps the event of it: the next member that
 * fails it over, where the first one died on the way, publishes the same event, once. Source: cluster.md, Node loss.
 */
import { reduceShared, type SharedStep } from '../../model/state/shared-connection.ts';
import type {
  FailedOverSlot,
  ConnectionKind,
  MarkedEvent,
  SessionSlot,
  SharedConnection,
} from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { failedOverSlotsMax } from '../../model/limits.ts';
import type { DeviceRows } from '../records/device-rows.ts';

export interface LostSlot {
  readonly deviceId: DeviceId;
  readonly connection: ConnectionKind;
  /** As it was found: one that was claimed again since is another. */
  readonly slot: SessionSlot;
  /** Unix seconds; 0: none. */
  readonly heartbeatAt: number;
}

/** Null: it was not failed over, or longer ago than is kept. Rejects like a change of a row; may be called again. */
export async function failOverSlot(
  rows: DeviceRows,
  lost: LostSlot,
  marked: MarkedEvent,
): Promise<FailedOverSlot | null> {
  const { deviceId, connection, slot } = lost;
  const { row } = await rows.change(deviceId, connection, (found) => strike(found, lost, marked));
  return failedOverIn(row).find((failedOver) => isSame(failedOver.slot, slot)) ?? null;
}

export function failedOverIn({ failedOver }: SharedConnection): readonly FailedOverSlot[] {
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
