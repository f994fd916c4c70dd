/**
 * The request log: one line at `info` per refused request, or per request (`log.requests`), with the name of the route and never a
 * device id. Lines are bounded per second, in total, per application, and for requests that only claim an application, so that no
 * caller can flood the log; omitted lines are counted, and the count is logged.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Code } from '../../model/codes.ts';
import { parseApplicationId, type ApplicationId, type RequestId } from '../../model/ids.ts';
import type { RepeatMark } from '../../model/wakeup.ts';
import type { Log } from '../../lib/log.ts';

export interface AnsweredRequest {
  readonly requestId: RequestId;
  /** Null: the caller is not authenticated. */
  readonly appId: ApplicationId | null;
  /** The claimed application; empty: none. */
  readonly claimedAppId: string;
  readonly reply: { readonly code: Code; readonly message: string } & RepeatMark;
  /** Null: a request of the server itself. */
  readonly http: AnsweredHttp | null;
}

interface AnsweredHttp {
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

/** Lines per second: in total, per application, and of unauthenticated requests. */
export interface LineLimits {
  readonly max: number;
  readonly ofApplicationMax: number;
  readonly unprovenMax: number;
}

/** Limits per process; lines beyond are counted. Source: docs/running.md. */
export const refusalLineLimits: LineLimits = { max: 1000, ofApplicationMax: 200, unprovenMax: 50 };
/** A success is always authenticated. */
export const successLineLimits: LineLimits = { max: 10_000, ofApplicationMax: 5000, unprovenMax: 0 };
export const refusalReasonCharactersMax = 200;

/** A refused wakeup is logged in any case. Source: decisions.md, Wakeup. */
export type LoggedRequests = 'off' | 'refused' | 'all';

export class RequestLog {
  /** Hot path: successes that are not logged should not be recorded at all. */
  readonly hasSuccesses: boolean;
  readonly #hasRefusals: boolean;
  readonly #refusals: BoundedLines;
  readonly #successes: BoundedLines;

  constructor(logged: LoggedRequests, clock: Clock, log: Log) {
    this.hasSuccesses = logged === 'all';
    this.#hasRefusals = logged !== 'off';
    this.#refusals = new BoundedLines('refused', refusalLineLimits, clock, log);
    this.#successes = new BoundedLines('answered', successLineLimits, clock, log);
  }

  /** False: not logged, for example because a refused request claimed no application. */
  record(answered: AnsweredRequest, subject: 'request' | 'wakeup' = 'request'): boolean {
    const { appId, claimedAppId, reply, http } = answered;
    const application = appId ?? '';
    if (reply.code === 0)
      return (
        this.hasSuccesses &&
        http !== null &&
        this.#successes.write(application, fieldsOf(answered), 'request answered')
      );
    if (subject === 'request' && !this.#hasRefusals) return false;
    if (appId === null && claimedAppId === '') return false;
    const reason = reply.message.slice(0, refusalReasonCharactersMax);
    return this.#refusals.write(application, { ...fieldsOf(answered), reason }, `${subject} refused`);
  }
}

function fieldsOf({ requestId, appId, claimedAppId, reply, http }: AnsweredRequest): object {
  return {
    request_id: requestId,
    // An invalid application id is a stranger's text, which must not get into the log.
    ...(appId === null ? { claimed_app_id: parseApplicationId(claimedAppId) } : { app_id: appId }),
    ...(http !== null && {
      route: http.route,
      status: http.status,
      ms: Math.round(http.seconds * 10_000) / 10,
    }),
    code: reply.code,
  };
}

const windowMs = 1000;

class BoundedLines {
  readonly #kind: string;
  readonly #limits: LineLimits;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Lines of this second by application; empty: unauthenticated. */
  readonly #lines = new Map<string, number>();
  #lineCount = 0;
  #omitted = 0;
  #windowEndMs = 0;

  constructor(kind: string, limits: LineLimits, clock: Clock, log: Log) {
    this.#kind = kind;
    this.#limits = limits;
    this.#clock = clock;
    this.#log = log;
  }

  /** `application` empty: unauthenticated. False: omitted. */
  write(application: string, fields: object, message: string): boolean {
    const isReserved = this.#reserveLine(application);
    if (isReserved) this.#log.info(fields, message);
    else this.#countOmitted();
    return isReserved;
  }

  #reserveLine(application: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#windowEndMs) {
      this.#lines.clear();
      this.#lineCount = 0;
      this.#windowEndMs = nowMs + windowMs;
    }
    const { max, ofApplicationMax, unprovenMax } = this.#limits;
    const lines = this.#lines.get(application) ?? 0;
    if (lines >= (application === '' ? unprovenMax : ofApplicationMax) || this.#lineCount >= max)
      return false;
    this.#lines.set(application, lines + 1);
    this.#lineCount += 1;
    return true;
  }

  #countOmitted(): void {
    this.#omitted += 1;
    if (this.#omitted > 1) return;
    this.#clock.after(windowMs, () => {
      const fields = { left_out: this.#omitted };
      this.#log.info(fields, `${this.#kind} requests not logged: too many in a second`);
      this.#omitted = 0;
    });
  }
}
