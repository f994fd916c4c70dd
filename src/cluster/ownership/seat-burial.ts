/**
 * The end of one seat of a lost member, in what all members share. The row keeps what is to be told of it: whoever comes
 * after a burier that died on the way tells the same, once. Source: cluster.md, Node loss.
 */
import { reduceShared, type SharedStep } from '../../model/state/shared-connection.ts';
import type { BuriedSeat, ConnectionKind, MarkedEvent, Seat, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { buriedSeatsMax } from '../../model/limits.ts';
import type { DeviceRows } from '../records/device-rows.ts';

export interface LostSeat {
  readonly deviceId: DeviceId;
  readonly connection: ConnectionKind;
  /** As it was found: one that was claimed again since is another. */
  readonly seat: Seat;
  /** Unix seconds; 0: none. */
  readonly heartbeatAt: number;
}

/** Null: it was not buried, or longer ago than is kept. Rejects like a change of a row; may be called again. */
export async function burySeat(
  rows: DeviceRows,
  lost: LostSeat,
  marked: MarkedEvent,
): Promise<BuriedSeat | null> {
  const { deviceId, connection, seat } = lost;
  const { row } = await rows.change(deviceId, connection, (found) => strike(found, lost, marked));
  return buriedIn(row).find((buried) => isSame(buried.seat, seat)) ?? null;
}

export function buriedIn({ buried }: SharedConnection): readonly BuriedSeat[] {
  return buried ?? [];
}

function strike(row: SharedConnection, lost: LostSeat, { id, atMs }: MarkedEvent): SharedStep {
  const { connection, heartbeatAt } = lost;
  const seat = row.seats.find((other) => isSame(other, lost.seat));
  if (seat === undefined) return { row, outcome: { kind: 'unmoved' } };
  const { session } = seat;
  const step = reduceShared(connection, row, { kind: 'ended', session, atMs, heartbeatAt });
  const buried = [...buriedIn(row), { id, atMs, seat }].slice(-buriedSeatsMax);
  return { ...step, row: { ...step.row, buried } };
}

function isSame(one: Seat, other: Seat): boolean {
  return one.session === other.session && one.epoch === other.epoch;
}
