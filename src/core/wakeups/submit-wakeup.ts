/**
 * Sends a sleeping device its 8 bytes. Changed body (40003) and access are checked here, then it is done: alone in this
 * process, among several members by the one that has the first of the device's sleep sessions. What becomes of it there
 * is in do-wakeup.ts. Source: API doc, Endpoint 2; decisions.md, Wakeup.
 */
import { wallSeconds } from '../../lib/clock.ts';
import type { DeviceSlots } from '../../model/cluster.ts';
import { refusal, type Refusal, type WakeupCode } from '../../model/codes.ts';
import type { WakeupRequest } from '../../model/wakeup.ts';
import { checkDeviceAccess } from '../devices/check-device-access.ts';
import { doWakeup, type WakeupDeps } from './do-wakeup.ts';
import { locationIn } from '../devices/locate-device.ts';
import { routeWakeup } from './route-wakeup.ts';
import type { WakeupAnswer } from './wakeup-memory.ts';
import { refuseWakeup, wakeupUnavailable } from './wakeup-refusals.ts';

/** Settles within the write deadline (1 s), among several members within 2.5 s, and never rejects. */
export async function submitWakeup(deps: WakeupDeps, request: WakeupRequest): Promise<WakeupAnswer> {
  try {
    const refused = check(deps, request);
    if (refused !== null) return refuseWakeup(deps, refused);
    if (deps.cluster === null) return doWakeup(deps, request);
    return await routeWakeup(deps, deps.cluster, request);
  } catch (error) {
    return unreadable(deps, error);
  }
}

/** What another member asks of the one that has the session: all of it, but for finding where the device is. */
export async function answerWakeup(
  deps: WakeupDeps,
  request: WakeupRequest,
  slots: DeviceSlots,
): Promise<WakeupAnswer> {
  const { cluster } = deps;
  try {
    const refused = check(deps, request);
    if (refused !== null) return refuseWakeup(deps, refused);
    if (cluster === null) return doWakeup(deps, request);
    const actor = deps.directory.find(request.deviceId);
    return doWakeup(deps, request, locationIn(slots, 'sleep', actor, cluster.peers));
  } catch (error) {
    return unreadable(deps, error);
  }
}

function check({ clock, registry, memory }: WakeupDeps, request: WakeupRequest): Refusal<WakeupCode> | null {
  if (memory.hasChangedBody(request)) return refusal(40003, 'X-Request-ID was used with another body');
  const denied = checkDeviceAccess(registry, request.appId, request.deviceId, wallSeconds(clock));
  return denied === null ? null : refusal(denied);
}

function unreadable(deps: WakeupDeps, error: unknown): WakeupAnswer {
  deps.log.error({ err: error }, 'a wakeup could not be read or written in the store');
  return refuseWakeup(deps, wakeupUnavailable('wakeup service unavailable'));
}
