/**
 * The account of the answers to wakeups: a refused one is logged at `info`, once, and remembered for operators; an accepted one,
 * and the device of a refused one, are logged at `debug`. Lines are bounded per second, for all, for one application, and for
 * requests that only claim to be of one, so that nobody floods the log; what is left out is counted and the count is logged.
 * Source: decisions.md, Wakeup.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Code } from '../../model/codes.ts';
import { parseApplicationId, type ApplicationId, type DeviceId, type RequestId } from '../../model/ids.ts';
import {
  refusalReasonCharactersMax,
  refusalsLoggedMax,
  refusalsLoggedOfApplicationMax,
  refusalsLoggedUnprovenMax,
} from './refusal-limits.ts';
import type { RefusedWakeup, WakeupRequest } from '../../model/wakeup.ts';
import type { Log } from '../ports/log.ts';
import { applicationKey, RefusedWakeups } from './refused-wakeups.ts';
import type { WakeupAnswer } from './wakeup-memory.ts';

/** The answer to a wakeup, and whose it was. */
export interface WakeupAnswered {
  readonly requestId: RequestId;
  /** Null: the caller was not proven to be any application. */
  readonly appId: ApplicationId | null;
  /** What the caller said to be; empty: nothing. */
  readonly claimedAppId: string;
  /** Null: its body was not read. */
  readonly deviceId: DeviceId | null;
  readonly reply: { readonly code: Code; readonly message: string };
}

const windowMs = 1000;

export class AnsweredWakeups {
  readonly refusals = new RefusedWakeups();
  readonly #clock: Clock;
  readonly #log: Log;
  /** Lines of this second, by application. */
  readonly #lines = new Map<string, number>();
  #lineCount = 0;
  #leftOut = 0;
  #windowEndMs = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The answer to a wakeup that the server submitted itself: for a waking message, or for the bridge of a call. */
  noteSubmitted({ requestId, appId, deviceId }: WakeupRequest, answer: WakeupAnswer): void {
    const reply = answer.ok ? ({ code: 0, message: 'success' } as const) : answer.error;
    this.note({ requestId, appId, claimedAppId: appId, deviceId, reply });
  }

  /** Of a refused request that said to be of no application nothing is kept. */
  note({ requestId, appId, claimedAppId, deviceId, reply: { code, message } }: WakeupAnswered): void {
    if (code === 0)
      this.#log.debug({ request_id: requestId, app_id: appId, device_id: deviceId }, 'wakeup accepted');
    else if (appId !== null || claimedAppId !== '')
      this.#refused({
        atMs: this.#clock.wallMs(),
        requestId,
        // What is no application id is a stranger's text: it gets into no log.
        appId: appId ?? parseApplicationId(claimedAppId),
        isProven: appId !== null,
        deviceId,
        code,
        reason: message.slice(0, refusalReasonCharactersMax),
      });
  }

  #refused(refused: RefusedWakeup): void {
    this.refusals.note(refused);
    if (this.#takeLine(applicationKey(refused))) this.#write(refused);
    else this.#leaveOut();
  }

  #write({ requestId, appId, isProven, deviceId, code, reason }: RefusedWakeup): void {
    const application = isProven ? { app_id: appId } : { claimed_app_id: appId };
    this.#log.info({ request_id: requestId, ...application, code, reason }, 'wakeup refused');
    if (deviceId !== null)
      this.#log.debug(
        { request_id: requestId, ...application, device_id: deviceId },
        'device of a refused wakeup',
      );
  }

  #takeLine(application: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#windowEndMs) {
      this.#lines.clear();
      this.#lineCount = 0;
      this.#windowEndMs = nowMs + windowMs;
    }
    const lines = this.#lines.get(application) ?? 0;
    const max = application === '' ? refusalsLoggedUnprovenMax : refusalsLoggedOfApplicationMax;
    if (lines >= max || this.#lineCount >= refusalsLoggedMax) return false;
    this.#lines.set(application, lines + 1);
    this.#lineCount += 1;
    return true;
  }

  #leaveOut(): void {
    this.#leftOut += 1;
    if (this.#leftOut > 1) return;
    this.#clock.after(windowMs, () => {
      this.#log.info(
        { left_out: this.#leftOut },
        'refused wakeups that are not in the log: too many in a second',
      );
      this.#leftOut = 0;
    });
  }
}
