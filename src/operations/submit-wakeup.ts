/**
 * Sends a sleeping device its 8 bytes. The order of checks is contract: changed body (40003), access, repeats,
 * session (40412), module (40902), limits (42901), write (50204, 50402). Everything up to the write happens in
 * one turn, so no second request can slip in between. Source: API doc, Endpoint 2; decisions.md, Wakeup.
 */
import { wallSeconds, type Clock } from '../base/clock.ts';
import { fail, succeed } from '../base/outcome.ts';
import type { DeviceDirectory } from '../actor/device-directory.ts';
import type { DeviceActor } from '../actor/device-actor.ts';
import type { WakeupWatch } from '../actor/wakeup-watch.ts';
import { refusal, type Refusal, type WakeupCode } from '../domain/codes.ts';
import type { WakeWriteResult } from '../domain/sleep.ts';
import type { WakeupRequest } from '../domain/wakeup.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { SleepConnection } from '../ports/sleep-connection.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { checkDeviceAccess } from './check-device-access.ts';
import type { WakeupAnswer, WakeupMemory } from './wakeup-memory.ts';
import type { WakeupLimits } from './wakeup-limits.ts';

export interface WakeupHouse {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly memory: WakeupMemory;
  readonly limits: WakeupLimits;
  readonly watch: WakeupWatch;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** True while the server is being stopped: no new wakeup is begun. */
  isDraining(): boolean;
}

/** Settles within the write deadline (1 s) and never rejects. */
export async function submitWakeup(house: WakeupHouse, request: WakeupRequest): Promise<WakeupAnswer> {
  try {
    if (house.memory.hasChangedBody(request))
      return refuse(house, refusal(40003, 'X-Request-ID was used with another body'));
    const nowS = wallSeconds(house.clock);
    const denied = checkDeviceAccess(house.registry, request.appId, request.deviceId, nowS);
    if (denied !== null) return refuse(house, refusal(denied));
    const known = house.memory.repeated(request);
    if (known !== null) {
      house.telemetry.wakeup('repeated');
      return known;
    }
    return begin(house, request);
  } catch (error) {
    house.log.error({ err: error }, 'a wakeup could not be read or written in the store');
    return refuse(house, unavailable('wakeup service unavailable'));
  }
}

function begin(house: WakeupHouse, request: WakeupRequest): WakeupAnswer | Promise<WakeupAnswer> {
  if (house.isDraining()) return refuseKnown(house, request, unavailable('this server is being stopped'));
  const actor = house.directory.find(request.deviceId);
  if (actor === null) return refuseKnown(house, request, refusal(40412));
  const connection = wakeableConnection(actor, request);
  if (connection === 42901) return refuseKnown(house, request, overload(mailboxFullRetryMs));
  if (typeof connection === 'number') return refuseKnown(house, request, refusal(connection));
  const isFull = house.memory.isFull || house.watch.isFull;
  const waitMs = isFull ? memoryFullRetryMs : house.limits.take(request.appId, actor);
  if (waitMs > 0) return refuseKnown(house, request, overload(waitMs));
  const answer = write(house, request, actor, connection);
  house.memory.begin(request, answer);
  return answer;
}

/** A wakeup is forgotten at the earliest with the next second: of the clock window, of those that are watched. */
const memoryFullRetryMs = 1000;
/** A mailbox is empty again within a turn of the loop. */
const mailboxFullRetryMs = 1000;

/** The connection to write to, or why there is none: an overfull mailbox counts as overload. */
function wakeableConnection(
  actor: DeviceActor,
  request: WakeupRequest,
): SleepConnection | 40412 | 40902 | 42901 {
  let answer: SleepConnection | 40412 | 40902 | 42901 = 42901;
  actor.post({
    to: 'wake',
    carriesCustomData: request.customData !== null,
    reply: (found) => {
      answer = found;
    },
  });
  return answer;
}

/** Whether the device is online is read before the write: what comes after it may be its doing. */
async function write(
  house: WakeupHouse,
  request: WakeupRequest,
  actor: DeviceActor,
  connection: SleepConnection,
): Promise<WakeupAnswer> {
  const { limits, watch, telemetry } = house;
  const watched = watch.begin(request, actor.sleepEpoch, actor.signalConnection !== null);
  const result = await connection.wake(request.customData);
  limits.release();
  if (result === 'written') {
    const acceptedAtMs = watch.written(watched);
    telemetry.wakeup('accepted');
    return succeed({ deviceId: request.deviceId, acceptedAtMs });
  }
  if (result === 'unknown') watch.unknown(watched);
  else watch.refused(watched);
  return refuse(house, refusals[result]);
}

const refusals: Record<Exclude<WakeWriteResult, 'written'>, Refusal<WakeupCode>> = {
  refused: refusal(50204),
  unknown: refusal(50402),
  busy: overload(1000),
};

function overload(waitMs: number): Refusal<WakeupCode> {
  return { ...refusal(42901), retryAfterS: Math.max(1, Math.ceil(waitMs / 1000)) };
}

function unavailable(message: string): Refusal<WakeupCode> {
  return { ...refusal(50301, message), retryAfterS: 1 };
}

function refuse(house: WakeupHouse, why: Refusal<WakeupCode>): WakeupAnswer {
  house.telemetry.wakeup(outcomeLabels[why.code] ?? 'refused');
  return fail(why);
}

/** Refused before a write was begun: its X-Request-ID now belongs to this body. */
function refuseKnown(house: WakeupHouse, request: WakeupRequest, why: Refusal<WakeupCode>): WakeupAnswer {
  house.memory.noteRefused(request);
  return refuse(house, why);
}

const outcomeLabels: Partial<Record<WakeupCode, 'failed' | 'unknown'>> = {
  50204: 'failed',
  50402: 'unknown',
};
