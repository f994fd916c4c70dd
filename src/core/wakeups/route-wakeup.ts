/**
 * Has a wakeup done by the member of the device's first sleep session, and says what it means when that cannot be
 * reached. Deadlines nest: what is left after the owner's own is for finding it. Source: cluster.md, the failure table.
 */
import { fail, succeed } from '../../lib/result.ts';
import { pause } from '../../lib/pause.ts';
import { refusal } from '../../model/codes.ts';
import { ownerRetryMs, ownerWakeMsMax, wakeupAnswerMsMax } from '../../model/limits.ts';
import type { PeerFailure } from '../../model/peer.ts';
import type { WakeupRequest } from '../../model/wakeup.ts';
import { doWakeup, type WakeupDeps } from './do-wakeup.ts';
import { locateDevice, type ClusterDeps } from '../devices/locate-device.ts';
import type { WakeupAnswer } from './wakeup-memory.ts';
import { refuseWakeup, wakeupUnavailable } from './wakeup-refusals.ts';

/** `away`: what is shared is; `absent`: who was asked has no session of the device any more. */
type Attempt = WakeupAnswer | PeerFailure | 'away' | 'absent';

/** Settles within `wakeupAnswerMsMax`. Rejects when the store cannot be read. */
export async function routeWakeup(
  deps: WakeupDeps,
  cluster: ClusterDeps,
  request: WakeupRequest,
): Promise<WakeupAnswer> {
  // What is known here is answered whoever has the device, and whether they can be reached.
  if (deps.memory.repeated(request) !== null) return doWakeup(deps, request);
  const endMs = deps.clock.monotonicMs() + wakeupAnswerMsMax;
  const first = await attempt(deps, cluster, request, endMs);
  if (first !== 'nobody' && first !== 'absent') return answerOf(deps, first);
  if (first === 'nobody') await pause(deps.clock, ownerRetryMs);
  return answerOf(deps, await attempt(deps, cluster, request, endMs));
}

async function attempt(
  deps: WakeupDeps,
  cluster: ClusterDeps,
  request: WakeupRequest,
  endMs: number,
): Promise<Attempt> {
  const { clock } = deps;
  const findMs = Math.max(0, endMs - ownerWakeMsMax - clock.monotonicMs());
  const location = await locateDevice(deps, cluster, 'sleep', request.deviceId, findMs);
  const { owner, slots } = location;
  if (owner === 'here') return doWakeup(deps, request, location);
  if (owner === 'nowhere') return (await recall(deps, cluster, request, endMs)) ?? doWakeup(deps, request);
  if (owner === 'away') return 'away';
  if (owner === 'lost') return 'nobody';
  const waitMs = Math.min(ownerWakeMsMax, endMs - clock.monotonicMs());
  const asked = await cluster.peers.ask<'wake'>(owner.member, { kind: 'wake', request, slots }, waitMs);
  if (!asked.ok) return asked.error;
  return !asked.value.ok && asked.value.error.code === 40412 ? 'absent' : asked.value;
}

/** A repeat of what another member did while the device was asleep. Null: it is none. */
async function recall(
  deps: WakeupDeps,
  cluster: ClusterDeps,
  { appId, requestId, isCallersId, bodySha256 }: WakeupRequest,
  endMs: number,
): Promise<WakeupAnswer | null> {
  if (!isCallersId) return null;
  const record = await cluster.recallWakeup(appId, requestId, endMs - deps.clock.monotonicMs());
  if (record?.isCallersId !== true) return null;
  if (record.bodySha256 !== bodySha256)
    return refuseWakeup(deps, refusal(40003, 'X-Request-ID was used with another body'));
  if (record.acceptedAtMs === null) return null;
  deps.telemetry.wakeup('repeated');
  return succeed({ deviceId: record.deviceId, acceptedAtMs: record.acceptedAtMs });
}

/** What the owner itself has answered is counted there. */
function answerOf(deps: WakeupDeps, result: Attempt): WakeupAnswer {
  switch (result) {
    case 'nobody':
    case 'unsent':
      return refuseWakeup(deps, wakeupUnavailable('the member that has the device cannot be reached'));
    case 'away':
      return refuseWakeup(deps, wakeupUnavailable('where the device is cannot be told'));
    case 'unanswered':
      return refuseWakeup(deps, refusal(50402));
    case 'absent':
      return fail(refusal(40412));
    default:
      return result;
  }
}
