/**
 * Has a wakeup done by the member of the device's first sleep session, and says what it means when that cannot be
 * reached. Deadlines nest: what is left after the owner's own is for finding it. Source: cluster.md, the failure table.
 */
import { fail, succeed } from '../../lib/outcome.ts';
import { pause } from '../../lib/pause.ts';
import { refusal } from '../../model/codes.ts';
import { ownerRetryMs, ownerWakeMsMax, wakeupAnswerMsMax } from '../../model/limits.ts';
import type { PeerFailure } from '../../model/peer.ts';
import type { WakeupRequest } from '../../model/wakeup.ts';
import { doWakeup, type WakeupHouse } from './do-wakeup.ts';
import { locateDevice, type ClusterHouse } from '../devices/locate-device.ts';
import type { WakeupAnswer } from './wakeup-memory.ts';
import { refuseWakeup, wakeupUnavailable } from './wakeup-refusals.ts';

/** `away`: what is shared is; `absent`: who was asked has no session of the device any more. */
type Attempt = WakeupAnswer | PeerFailure | 'away' | 'absent';

/** Settles within `wakeupAnswerMsMax`. Rejects when the store cannot be read. */
export async function routeWakeup(
  house: WakeupHouse,
  cluster: ClusterHouse,
  request: WakeupRequest,
): Promise<WakeupAnswer> {
  // What is known here is answered whoever has the device, and whether they can be reached.
  if (house.memory.repeated(request) !== null) return doWakeup(house, request);
  const endMs = house.clock.monotonicMs() + wakeupAnswerMsMax;
  const first = await attempt(house, cluster, request, endMs);
  if (first !== 'nobody' && first !== 'absent') return answerOf(house, first);
  if (first === 'nobody') await pause(house.clock, ownerRetryMs);
  return answerOf(house, await attempt(house, cluster, request, endMs));
}

async function attempt(
  house: WakeupHouse,
  cluster: ClusterHouse,
  request: WakeupRequest,
  endMs: number,
): Promise<Attempt> {
  const { clock } = house;
  const findMs = Math.max(0, endMs - ownerWakeMsMax - clock.monotonicMs());
  const location = await locateDevice(house, cluster, 'sleep', request.deviceId, findMs);
  const { owner, seats } = location;
  if (owner === 'here') return doWakeup(house, request, location);
  if (owner === 'nowhere') return (await recall(house, cluster, request, endMs)) ?? doWakeup(house, request);
  if (owner === 'away') return 'away';
  if (owner === 'lost') return 'nobody';
  const waitMs = Math.min(ownerWakeMsMax, endMs - clock.monotonicMs());
  const asked = await cluster.peers.ask<'wake'>(owner.member, { kind: 'wake', request, seats }, waitMs);
  if (!asked.ok) return asked.error;
  return !asked.value.ok && asked.value.error.code === 40412 ? 'absent' : asked.value;
}

/** A repeat of what another member did while the device was asleep. Null: it is none. */
async function recall(
  house: WakeupHouse,
  cluster: ClusterHouse,
  { appId, requestId, isCallersId, bodySha256 }: WakeupRequest,
  endMs: number,
): Promise<WakeupAnswer | null> {
  if (!isCallersId) return null;
  const record = await cluster.recallWakeup(appId, requestId, endMs - house.clock.monotonicMs());
  if (record?.isCallersId !== true) return null;
  if (record.bodySha256 !== bodySha256)
    return refuseWakeup(house, refusal(40003, 'X-Request-ID was used with another body'));
  if (record.acceptedAtMs === null) return null;
  house.telemetry.wakeup('repeated');
  return succeed({ deviceId: record.deviceId, acceptedAtMs: record.acceptedAtMs });
}

/** What the owner itself has answered is counted there. */
function answerOf(house: WakeupHouse, result: Attempt): WakeupAnswer {
  switch (result) {
    case 'nobody':
    case 'unsent':
      return refuseWakeup(house, wakeupUnavailable('the member that has the device cannot be reached'));
    case 'away':
      return refuseWakeup(house, wakeupUnavailable('where the device is cannot be told'));
    case 'unanswered':
      return refuseWakeup(house, refusal(50402));
    case 'absent':
      return fail(refusal(40412));
    default:
      return result;
  }
}
