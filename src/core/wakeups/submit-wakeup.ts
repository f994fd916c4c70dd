/**
 * Sends a sleeping device its 8 bytes. Changed body (40003) and access are checked here, then it is done: alone in this
 * process, among several members by the one that has the first of the device's sleep sessions. What becomes of it there
 * is in do-wakeup.ts. Source: API doc, Endpoint 2; decisions.md, Wakeup.
 */
import { wallSeconds } from '../../lib/clock.ts';
import type { DeviceSeats } from '../../model/cluster.ts';
import { refusal, type Refusal, type WakeupCode } from '../../model/codes.ts';
import type { WakeupRequest } from '../../model/wakeup.ts';
import { checkDeviceAccess } from '../devices/check-device-access.ts';
import { doWakeup, type WakeupHouse } from './do-wakeup.ts';
import { locationIn } from '../devices/locate-device.ts';
import { routeWakeup } from './route-wakeup.ts';
import type { WakeupAnswer } from './wakeup-memory.ts';
import { refuseWakeup, wakeupUnavailable } from './wakeup-refusals.ts';

/** Settles within the write deadline (1 s), among several members within 2.5 s, and never rejects. */
export async function submitWakeup(house: WakeupHouse, request: WakeupRequest): Promise<WakeupAnswer> {
  try {
    const refused = check(house, request);
    if (refused !== null) return refuseWakeup(house, refused);
    if (house.cluster === null) return doWakeup(house, request);
    return await routeWakeup(house, house.cluster, request);
  } catch (error) {
    return unreadable(house, error);
  }
}

/** What another member asks of the one that has the session: all of it, but for finding where the device is. */
export async function answerWakeup(
  house: WakeupHouse,
  request: WakeupRequest,
  seats: DeviceSeats,
): Promise<WakeupAnswer> {
  const { cluster } = house;
  try {
    const refused = check(house, request);
    if (refused !== null) return refuseWakeup(house, refused);
    if (cluster === null) return doWakeup(house, request);
    const actor = house.directory.find(request.deviceId);
    return doWakeup(house, request, locationIn(seats, 'sleep', actor, cluster.peers));
  } catch (error) {
    return unreadable(house, error);
  }
}

function check({ clock, registry, memory }: WakeupHouse, request: WakeupRequest): Refusal<WakeupCode> | null {
  if (memory.hasChangedBody(request)) return refusal(40003, 'X-Request-ID was used with another body');
  const denied = checkDeviceAccess(registry, request.appId, request.deviceId, wallSeconds(clock));
  return denied === null ? null : refusal(denied);
}

function unreadable(house: WakeupHouse, error: unknown): WakeupAnswer {
  house.log.error({ err: error }, 'a wakeup could not be read or written in the store');
  return refuseWakeup(house, wakeupUnavailable('wakeup service unavailable'));
}
