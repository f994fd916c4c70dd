/**
 * Records the answers to wakeups: a refused one gets one line in the request log and is remembered for operators; accepted ones,
 * and the device of a logged refusal, are logged at `debug`. Source: decisions.md, Wakeup.
 */
import type { Clock } from '../../lib/clock.ts';
import { parseApplicationId, type DeviceId, type RequestId } from '../../model/ids.ts';
import type { RefusedWakeup, WakeupRequest } from '../../model/wakeup.ts';
import type { Log } from '../../lib/log.ts';
import {
  refusalReasonCharactersMax,
  type AnsweredRequest,
  type RequestLog,
} from '../requests/request-log.ts';
import { RecentByOwner, type RecentLimits } from '../requests/recent-by-owner.ts';
import type { WakeupAnswer } from './wakeup-memory.ts';

export interface WakeupAnswered extends AnsweredRequest {
  readonly deviceId: DeviceId | null;
}

export class AnsweredWakeups {
  readonly refusals: RefusedWakeups;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #requests: Pick<RequestLog, 'record'>;

  constructor(clock: Clock, log: Log, requests: Pick<RequestLog, 'record'>, kept = usualLimits) {
    this.refusals = new RefusedWakeups(kept);
    this.#clock = clock;
    this.#log = log;
    this.#requests = requests;
  }

  /** Records a wakeup of the server itself: for a waking message, or for the bridge of a call. */
  recordSubmitted({ requestId, appId, deviceId }: WakeupRequest, answer: WakeupAnswer): void {
    const reply = answer.ok ? ({ code: 0, message: 'success' } as const) : answer.error;
    this.record({ requestId, appId, claimedAppId: appId, deviceId, reply, http: null });
  }

  /** Records an answer; ignores refusals of requests that claim no application. */
  record(answered: WakeupAnswered): void {
    const hasLine = this.#requests.record(answered, 'wakeup');
    const { requestId, appId, claimedAppId, deviceId, reply } = answered;
    const named = { request_id: requestId, app_id: appId, device_id: deviceId };
    const { repeatOf } = reply;
    const repeat = repeatOf === undefined ? {} : { repeat_of: repeatOf };
    if (reply.code === 0) return this.#log.debug({ ...named, ...repeat }, 'wakeup accepted');
    if (appId === null && claimedAppId === '') return;
    this.refusals.record({
      atMs: this.#clock.wallMs(),
      requestId,
      appId: appId ?? parseApplicationId(claimedAppId),
      isProven: appId !== null,
      deviceId,
      code: reply.code,
      reason: reply.message.slice(0, refusalReasonCharactersMax),
    });
    if (hasLine && deviceId !== null) this.#log.debug(named, 'wakeup refused: the device');
  }
}

/** Source: docs/running.md. */
const usualLimits: RecentLimits = { max: 10_000, ofOwnerMax: 1000 };

/** Recently refused wakeups of this process, for operators; older ones are in the log. */
class RefusedWakeups {
  readonly #kept: RecentByOwner<RefusedWakeup, RefusedWakeup>;

  constructor(limits: RecentLimits) {
    this.#kept = new RecentByOwner(limits);
  }

  record(refused: RefusedWakeup): void {
    this.#kept.put(ownerOf(refused), refused, refused);
  }

  /** Wakeups with the request id, latest first; `deviceId` null: any device. */
  list(requestId: RequestId, deviceId: DeviceId | null, limit: number): readonly RefusedWakeup[] {
    return this.#kept
      .items()
      .filter((one) => one.requestId === requestId && (deviceId === null || one.deviceId === deviceId))
      .sort((one, other) => other.atMs - one.atMs)
      .slice(0, limit);
  }
}

/** Empty for unproven requests: no application id is empty. */
function ownerOf({ appId, isProven }: Pick<RefusedWakeup, 'appId' | 'isProven'>): string {
  return isProven && appId !== null ? appId : '';
}
