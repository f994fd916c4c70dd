/**
 * Admitted calls at the core: counts each at the limit of its application, has its route handle it, and keeps the account of
 * every answer, in metrics and in the request log. It sees no HTTP object. Source: scale-out.md, API fronts.
 */
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { overload, refusal } from '../../model/codes.ts';
import type { AccessKeyId, ApplicationId } from '../../model/ids.ts';
import { hasPermission, isStillValid, type Credential } from '../../model/registry.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { RequestLog } from '../../core/requests/request-log.ts';
import { authFailures, type AuthFailureReason } from '../../protocol/tgv1/auth-failure.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { ApiServices } from './api-services.ts';
import {
  refuse,
  refuseParameter,
  refusePermission,
  statusOf,
  unverified,
  type Call,
  type Reply,
  type RequestIdentity,
  type Route,
} from './route.ts';

/** A request, for the account of its answer. */
export interface AccountedRequest extends Pick<Call, 'deviceId' | 'isLongPoll'> {
  readonly requestId: RequestIdentity;
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  /** Null: no credential has signed it. */
  readonly provenAppId: ApplicationId | null;
  /** Empty: it claims to be of no application. */
  readonly claimedAppId: string;
}

export interface AdmittedCall extends Call, AccountedRequest {
  readonly bodyBytes: number;
}

/** An answer that needed no handler. */
export interface Refused {
  /** Null: no route has the request's path. */
  readonly route: Route | null;
  readonly status: number;
  readonly reply: Reply;
  readonly authFailure?: AuthFailureReason | undefined;
  /** Counts as so many that are alike; default: one. */
  readonly times?: number;
}

/** The core, as the front end sees it. */
export interface CallDispatcher {
  /** Never throws, and never rejects. The reply has `retryAfterS` only where the caller is to learn it. */
  dispatch(route: Route, params: Result<unknown, string>, call: AdmittedCall): Reply | Promise<Reply>;
  /** Keeps the account of an answer that did not come from `dispatch`. */
  refused(refused: Refused, request: AccountedRequest): void;
}

export interface DispatcherDeps {
  readonly services: ApiServices;
  readonly registry: Pick<RegistryReader, 'findCredential'>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly log: Log;
  readonly requestLog: RequestLog;
}

export class Dispatcher implements CallDispatcher {
  readonly #deps: DispatcherDeps;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  dispatch(route: Route, params: Result<unknown, string>, call: AdmittedCall): Reply | Promise<Reply> {
    const { services } = this.#deps;
    const limit = route.limit === null ? null : services.limits[route.limit];
    const waitMs = limit?.acquire(call.credential.appId, route.costOf?.(params)) ?? 0;
    // An application that asks too often learns when to retry, whatever the HTTP status.
    if (waitMs > 0) return this.#answer(route, call, refuse(overload(waitMs)));
    if (!params.ok) return this.#answer(route, call, refuseParameter(params.error));
    try {
      const reply = route.handle(params.value, call, services);
      if (!(reply instanceof Promise)) return this.#settle(route, call, reply);
      return reply.then(
        (late) => this.#settle(route, call, this.#again(route, call, late)),
        (error: unknown) => this.#fault(route, call, error),
      );
    } catch (error) {
      return this.#fault(route, call, error);
    }
  }

  refused({ route, status, reply, authFailure, times = 1 }: Refused, request: AccountedRequest): void {
    if (authFailure !== undefined)
      for (let time = 0; time < times; time++) this.#deps.telemetry.authFailure(authFailure);
    this.#note(route, status, reply, request, times);
  }

  /** The credential of an admitted call as it is now, or the reply where it is none any more. Never throws. */
  credentialOf(route: Route, accessKeyId: AccessKeyId, before?: Credential): Result<Credential, Reply> {
    const { registry, clock, telemetry, log } = this.#deps;
    try {
      const credential = registry.findCredential(accessKeyId);
      if (credential !== null && isStillValid(credential, before ?? credential, wallSeconds(clock)))
        return succeed(credential);
      const { reason, message } = authFailures.unknownCredential;
      telemetry.authFailure(reason);
      return fail({ code: 40105, message, data: null });
    } catch (error) {
      log.error({ err: error }, 'signature: cannot be verified; answered as unavailable');
      return fail(unverified(route));
    }
  }

  /** A credential that lost the right while the answer was waited for is not given it. */
  #again(route: Route, call: AdmittedCall, reply: Reply): Reply {
    if (route.asksAgain !== true) return reply;
    const now = this.credentialOf(route, call.credential.accessKeyId, call.credential);
    if (!now.ok) return now.error;
    return hasPermission(now.value, route.permission) ? reply : refusePermission(route.permission);
  }

  #fault(route: Route, call: AdmittedCall, error: unknown): Reply {
    this.#deps.log.error({ err: error, request_id: call.requestId.id }, 'request: failed; answered 50000');
    return this.#settle(route, call, refuse(refusal(50000)));
  }

  #settle(route: Route, call: AdmittedCall, reply: Reply): Reply {
    const tellsWhen = route.statusFromCode || (route.tellsWhenToRetry === true && reply.code === 42901);
    if (tellsWhen || reply.retryAfterS === undefined) return this.#answer(route, call, reply);
    const { retryAfterS: _, ...rest } = reply;
    return this.#answer(route, call, rest);
  }

  #answer(route: Route, call: AdmittedCall, reply: Reply): Reply {
    this.#note(route, statusOf(route, reply.code), reply, call);
    return reply;
  }

  #note(route: Route | null, status: number, reply: Reply, request: AccountedRequest, times = 1): void {
    const { clock, telemetry, requestLog, services } = this.#deps;
    const seconds = (clock.monotonicMs() - request.startedMs) / 1000;
    const name = route?.name ?? 'none';
    for (let time = 0; time < times; time++)
      if (request.isLongPoll) telemetry.longPoll(name, status, reply.code, seconds);
      else telemetry.httpRequest(name, status, reply.code, seconds);
    // Hot path: skip the record for successes that are not logged.
    if (reply.code === 0 && !requestLog.hasSuccesses && route?.answered === undefined) return;
    const { requestId, provenAppId, claimedAppId, deviceId } = request;
    const answered = {
      http: { route: name, status, seconds },
      requestId: requestId.id,
      appId: provenAppId,
      claimedAppId,
      deviceId,
      reply,
    };
    if (route?.answered === undefined) requestLog.record(answered);
    else route.answered(answered, services);
  }
}
