/**
 * The request log: a line at `info` for a refused request, or for every one (`log.requests`), which says what was asked by
 * the name of its route and never by ids of devices. Lines are bounded per second, for all, for one application, and for
 * requests that only claim to be of one, so that nobody floods the log; what is left out is counted and the count is logged.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Code } from '../../model/codes.ts';
import { parseApplicationId, type ApplicationId, type RequestId } from '../../model/ids.ts';
import type { RepeatMark } from '../../model/wakeup.ts';
import type { Log } from '../../lib/log.ts';

/** An answer, and whose it was. */
export interface AnsweredRequest {
  readonly requestId: RequestId;
  /** Null: the caller was not proven to be any application. */
  readonly appId: ApplicationId | null;
  /** What the caller said to be; empty: nothing. */
  readonly claimedAppId: string;
  readonly reply: { readonly code: Code; readonly message: string } & RepeatMark;
  /** Null: the server asked it of itself. */
  readonly http: AnsweredHttp | null;
}

interface AnsweredHttp {
  /** The name of the route, as in metrics. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

/** Lines in a second: all of them, of one application, and of requests that only claim to be of one. */
export interface LineLimits {
  readonly max: number;
  readonly ofApplicationMax: number;
  readonly unprovenMax: number;
}

/** Lines of each process; lines beyond them are counted. Source: docs/running.md. */
export const refusalLineLimits: LineLimits = { max: 1000, ofApplicationMax: 200, unprovenMax: 50 };
/** A success is never unproven. */
export const successLineLimits: LineLimits = { max: 10_000, ofApplicationMax: 5000, unprovenMax: 0 };
/** Of the reason of a refusal. */
export const refusalReasonCharactersMax = 200;

/** Of a refused wakeup there is a line in any case. Source: decisions.md, Wakeup. */
export type LoggedRequests = 'off' | 'refused' | 'all';

export class RequestLog {
  /** Whether a success has a line: to be asked before one is noted, for successes are the hot path. */
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

  /** False: it has no line. Of a refused request that said to be of no application there is none. */
  note(answered: AnsweredRequest, subject: 'request' | 'wakeup' = 'request'): boolean {
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
    // What is no application id is a stranger's text: it gets into no log.
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
  readonly #what: string;
  readonly #limits: LineLimits;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Lines of this second, by application; no application id is empty. */
  readonly #lines = new Map<string, number>();
  #lineCount = 0;
  #leftOut = 0;
  #windowEndMs = 0;

  constructor(what: string, limits: LineLimits, clock: Clock, log: Log) {
    this.#what = what;
    this.#limits = limits;
    this.#clock = clock;
    this.#log = log;
  }

  /** `application` empty: it is not proven to be any. False: it is left out. */
  write(application: string, fields: object, message: string): boolean {
    const isTaken = this.#takeLine(application);
    if (isTaken) this.#log.info(fields, message);
    else this.#leaveOut();
    return isTaken;
  }

  #takeLine(application: string): boolean {
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

  #leaveOut(): void {
    this.#leftOut += 1;
    if (this.#leftOut > 1) return;
    this.#clock.after(windowMs, () => {
      const left = { left_out: this.#leftOut };
      this.#log.info(left, `${this.#what} requests that are not in the log: too many in a second`);
      this.#leftOut = 0;
    });
  }
}
