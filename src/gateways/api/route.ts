/** The types of a route, of a call and of its reply; routes.ts has the table of routes. */
import { assert } from '../../lib/assert.ts';
import type { Result } from '../../lib/result.ts';
import { codeTexts, refusal, type Code } from '../../model/codes.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../model/ids.ts';
import { bodyBytesMax } from '../../model/limits.ts';
import type { Credential, Permission } from '../../model/registry.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import type { RepeatMark } from '../../model/wakeup.ts';
import type { WakeupAnswered } from '../../core/wakeups/answered-wakeups.ts';
import type { MixedFormats } from '../../protocol/rest/call-media.ts';
import type { SecretRules } from '../../protocol/rest/provisioning.ts';
import type { EnvelopeShape, JsonText } from '../../protocol/rest/shared-fields.ts';
import type { ApiServices, LimitName } from './api-services.ts';

export interface UnreadCall {
  /** As sent, without `?`. */
  readonly query: string;
  readonly body: Uint8Array;
  readonly requestId: RequestIdentity;
}

export interface ParseRules {
  /** True: the two directions of a call may use different video formats. */
  readonly mixedFormats: MixedFormats;
  readonly secretRules: SecretRules;
}

/** An authenticated and permitted call with parsed parameters. */
export interface Call extends SignedRequest {
  readonly credential: Credential;
  readonly requestId: RequestIdentity;
  /** The target device, set by the endpoint for metrics and request log. */
  deviceId: DeviceId | null;
  /** The caller requested to wait, so the latency is not the server's. Set by the endpoint. */
  isLongPoll: boolean;
  /** The peer's address; valid only in the turn in which the call is handled. */
  remoteAddress(): string;
  /** Sets the only listener, called once if the caller hangs up before the answer, or at once if it already has. */
  onGone(listener: () => void): void;
}

/** The effective request id and its origin: the caller's, or generated because it was absent or invalid. */
export interface RequestIdentity {
  readonly id: RequestId;
  readonly origin: 'caller' | 'absent' | 'invalid';
}

export interface Reply extends RepeatMark {
  readonly code: Code;
  readonly message: string;
  readonly data: JsonText | null;
  /** Value of `Retry-After`, whole seconds. */
  readonly retryAfterS?: number;
}

export interface Route {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Maximum size of the body, bytes; beyond it 41300. */
  readonly bodyBytesMax: number;
  readonly permission: Permission;
  /** The application's rate limit for the route; null: none before its handler. */
  readonly limit: LimitName | null;
  readonly envelope: EnvelopeShape;
  /** HTTP status of code 0. */
  readonly successStatus: 200 | 202;
  /** True: a failure's HTTP status is the first three digits of its code; false: it is 200. */
  readonly statusFromCode: boolean;
  readonly acceptsRequestId: boolean;
  /** The code while no signature can be verified, for endpoints without 50301. */
  readonly unverifiedCode?: 50000;
  /** True: a 42901 of the handler carries Retry-After, whatever the HTTP status. */
  readonly sendsRetryAfter?: true;
  readonly recordsAddress?: true;
  /** True: the answer may come much later, so the credential is checked again before it. */
  readonly rechecksCredential?: true;
  /** An error is a sentence for the caller, sent with 40003. */
  parse(call: UnreadCall, rules: ParseRules): Result<unknown, string>;
  /** Number of calls charged to the rate limit. Default: 1. */
  costOf?(params: Result<unknown, string>): number;
  handle(params: unknown, call: Call, services: ApiServices): Reply | Promise<Reply>;
  /** Called with every answer to the route's path and method, also before `handle`. Must not throw. */
  answered?(answered: WakeupAnswered, services: ApiServices): void;
}

const common = { bodyBytesMax, successStatus: 200, acceptsRequestId: false } as const;

/** HTTP status 200 even for failures: the caller reads the code. */
export const plain = { ...common, envelope: 'plain', statusFromCode: false } as const;

/** The HTTP status follows the code. */
export const coded = { ...common, envelope: 'with-request-id', statusFromCode: true } as const;

interface Failure {
  readonly code: Code;
  readonly message: string;
  readonly retryAfterS?: number;
}

export function refuse(failure: Failure): Reply {
  return { ...failure, data: null };
}

export function refuseParameter(message: string): Reply {
  return refuse(refusal(40003, message));
}

export function refusePermission(permission: Permission): Reply {
  return refuse(refusal(40301, `${codeTexts[40301]} ${permission}`));
}

export type Handler<Params> = (params: Params, call: Call, services: ApiServices) => Reply | Promise<Reply>;

export function parsed<Params>(
  parse: (call: UnreadCall, rules: ParseRules) => Result<Params, string>,
  handle: Handler<Params>,
): Pick<Route, 'parse' | 'handle'> {
  return { parse, handle: (params, call, services) => handle(params as Params, call, services) };
}

type Answer<Value, Failed> = Result<Value, Failed> & RepeatMark;

/**
 * Converts the core's answer to a reply, synchronously if the answer is not a promise. `encode` writes the value as JSON,
 * `encodeFailure` the data of a failure; `messageOf` replaces the standard message of a success.
 */
export function replyWith<Value, Failed extends Failure = Failure>(
  answer: Answer<Value, Failed> | Promise<Answer<Value, Failed>>,
  encode: (value: Value) => JsonText,
  encodeFailure?: (failure: Failed) => string | null,
  messageOf?: (value: Value) => string | undefined,
): Reply | Promise<Reply> {
  if (answer instanceof Promise)
    return answer.then((settled) => replyWith(settled, encode, encodeFailure, messageOf));
  const { repeatOf } = answer;
  const reply: Reply = answer.ok
    ? { code: 0, message: messageOf?.(answer.value) ?? codeTexts[0], data: encode(answer.value) }
    : { ...refuse(answer.error), data: encodeFailure?.(answer.error) ?? null };
  return repeatOf === undefined ? reply : { ...reply, repeatOf };
}

export function signedBy({ credential, signature, signatureExpiresMs }: Call): {
  readonly appId: ApplicationId;
} & SignedRequest {
  return { appId: credential.appId, signature, signatureExpiresMs };
}

/** The reply while signatures cannot be verified. */
export function unverified(route: Route): Reply {
  return unavailable(route, 'signatures cannot be verified now');
}

export function unavailable({ unverifiedCode }: Route, message: string): Reply {
  return { code: unverifiedCode ?? 50301, message, data: null, retryAfterS: 1 };
}

/** An invalid signature is 401 on every path. */
export function statusOf(route: Route, code: Code): number {
  if (code === 0) return route.successStatus;
  return route.statusFromCode || code === 40105 ? Math.floor(code / 100) : 200;
}

export function routesByPath(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  const byPath = new Map<string, readonly Route[]>();
  for (const route of routes) {
    const others = byPath.get(route.path) ?? [];
    const isNew = others.every(({ method }) => method !== route.method);
    assert(isNew, `one route for ${route.method} ${route.path}`);
    byPath.set(route.path, [...others, route]);
  }
  return byPath;
}
