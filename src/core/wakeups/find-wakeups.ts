/**
 * Finds the wakeups with a request id at all members, for operators: accepted and unknown ones in the records, refused ones in the
 * memory of the process that answered them.
 */
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId, RequestId } from '../../model/ids.ts';
import { memberViewMsMax, wakeupsShownMax } from '../../model/limits.ts';
import { latestFirst, type WakeupsKnown } from '../../model/wakeup.ts';
import { othersAlive, type Peers } from '../ports/peers.ts';
import type { WakeupRecords } from '../ports/records.ts';
import type { AnsweredWakeups } from './answered-wakeups.ts';

export interface OwnWakeupsDeps {
  readonly wakeupRecords: Pick<WakeupRecords, 'list'>;
  readonly answeredWakeups: Pick<AnsweredWakeups, 'refusals'>;
}

export interface FindWakeupsDeps extends OwnWakeupsDeps {
  readonly peers: Pick<Peers, 'self' | 'alive' | 'ask'>;
}

/** Wakeups at this member. Throws when the store cannot be read. */
export function findOwnWakeups(
  { wakeupRecords, answeredWakeups }: OwnWakeupsDeps,
  requestId: RequestId,
  deviceId: DeviceId | null,
): WakeupsKnown {
  return {
    wakeups: wakeupRecords.list(requestId, deviceId, wakeupsShownMax),
    refused: answeredWakeups.refusals.list(requestId, deviceId, wakeupsShownMax),
  };
}

export interface WakeupsFound extends WakeupsKnown {
  readonly silent: readonly MemberId[];
}

/** Wakeups at all live members. Settles within `memberViewMsMax`; rejects when the store cannot be read. */
export async function findWakeups(
  deps: FindWakeupsDeps,
  requestId: RequestId,
  deviceId: DeviceId | null,
): Promise<WakeupsFound> {
  const { peers } = deps;
  const found = [findOwnWakeups(deps, requestId, deviceId)];
  const silent: MemberId[] = [];
  const question = { kind: 'wakeups', requestId, deviceId } as const;
  const ask = async (member: MemberId): Promise<void> => {
    const asked = await peers.ask<'wakeups'>(member, question, memberViewMsMax);
    if (asked.ok) found.push(asked.value);
    else silent.push(member);
  };
  await Promise.all(othersAlive(peers).map(ask));
  return { ...merge(found), silent };
}

/** Removes duplicates: several members may return one wakeup, by the id of a repeat. */
function merge(found: readonly WakeupsKnown[]): WakeupsKnown {
  const wakeups = new Map(
    found.flatMap((known) => known.wakeups.map((wakeup) => [wakeup.record.id, wakeup] as const)),
  );
  const refused = found.flatMap((known) => known.refused);
  return {
    wakeups: latestFirst(wakeups.values()).slice(0, wakeupsShownMax),
    refused: refused.sort((one, other) => other.atMs - one.atMs).slice(0, wakeupsShownMax),
  };
}
