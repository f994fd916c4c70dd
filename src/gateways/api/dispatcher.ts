/**
 * Dispatches admitted calls at the core: charges the application's rate limit, calls the handler of the route, and records every
 * answer in metrics and request log. Independent of HTTP. Source: scale-out.md, API fronts.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { wallSeconds } from '../../lib/clock.ts';
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

export interface AccountedRequest extends Pick<Call, 'deviceId' | 'isLongPoll'> {
  readonly requestId: RequestIdentity;
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  /** Null: not authenticated. */
  readonly provenAppId: ApplicationId | null;
  /** Empty: the request claims no application. */
  readonly claimedAppId: string;
}

export interface AdmittedCall extends Call, AccountedRequest {
  readonly bodyBytes: number;
}

export interface Refused {
  /** Null: no route matches the path. */
  readonly route: Route | null;
  readonly status: number;
  readonly reply: Reply;
  readonly authFailure?: AuthFailureReason | undefined;
  /** Number of equal answers. Default: 1. */
  readonly times?: number;
}

/** The core as the HTTP front end sees it. */
export interface CallDispatcher {
  /** Never throws or rejects. The reply has `retryAfterS` only if the caller should see it. */
  dispatch(route: Route, params: Result<unknown, string>, call: AdmittedCall): Reply | Promise<Reply>;
  /** Records an answer that `dispatch` did not produce. */
  refused(refused: Refused, request: AccountedRequest): void;
}

export interface DispatcherDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly services: ApiServices;
  readonly registry: Pick<RegistryReader, 'findCredential'>;
  readonly telemetry: Telemetry;
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
    // An application over its rate learns when to retry, whatever the HTTP status.
    if (waitMs > 0) return this.#answer(route, call, refuse(overload(waitMs)));
    if (!params.ok) return this.#answer(route, call, refuseParameter(params.error));
    try {
      const reply = route.handle(params.value, call, services);
      if (!(reply instanceof Promise)) return this.#finish(route, call, reply);
      return reply.then(
        (late) => this.#finish(route, call, this.#again(route, call, late)),
        (error: unknown) => this.#fault(route, call, error),
      );
    } catch (error) {
      return this.#fault(route, call, error);
    }
  }

  refused({ route, status, reply, authFailure, times = 1 }: Refused, request: AccountedRequest): void {
    if (authFailure !== undefined)
      for (let time = 0; time < times; time++) this.#deps.telemetry.authFailure(authFailure);
    this.#account(route, status, reply, request, times);
  }

  /** The current credential of an admitted call, or the refusal if it is no longer valid. Never throws. */
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

  /** Withholds the answer if the credential lost its permission in the meantime. */
  #again(route: Route, call: AdmittedCall, reply: Reply): Reply {
    if (route.rechecksCredential !== true) return reply;
    const now = this.credentialOf(route, call.credential.accessKeyId, call.credential);
    if (!now.ok) return now.error;
    return hasPermission(now.value, route.permission) ? reply : refusePermission(route.permission);
  }

  #fault(route: Route, call: AdmittedCall, error: unknown): Reply {
    this.#deps.log.error({ err: error, request_id: call.requestId.id }, 'request: failed; answered 50000');
    return this.#finish(route, call, refuse(refusal(50000)));
  }

  #finish(route: Route, call: AdmittedCall, reply: Reply): Reply {
    const sendsRetryAfter = route.statusFromCode || (route.sendsRetryAfter === true && reply.code === 42901);
    if (sendsRetryAfter || reply.retryAfterS === undefined) return this.#answer(route, call, reply);
    const { retryAfterS: _, ...rest } = reply;
    return this.#answer(route, call, rest);
  }

  #answer(route: Route, call: AdmittedCall, reply: Reply): Reply {
    this.#account(route, statusOf(route, reply.code), reply, call);
    return reply;
  }

  #account(route: Route | null, status: number, reply: Reply, request: AccountedRequest, times = 1): void {
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
