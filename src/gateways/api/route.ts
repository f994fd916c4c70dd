/** The form of a route's declaration, of a call and of its reply; the table of routes is routes.ts. */
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

/** As much of a request as its parameters are read from. */
export interface UnreadCall {
  /** Raw, without `?`. */
  readonly query: string;
  readonly body: Uint8Array;
  readonly requestId: RequestIdentity;
}

/** Settings by which parameters are read. */
export interface ParseRules {
  /** True: the directions of a call may have unlike video formats. */
  readonly mixedFormats: MixedFormats;
  readonly secretRules: SecretRules;
}

/** A call that is authentic and permitted, and whose parameters are read. */
export interface Call extends SignedRequest {
  readonly credential: Credential;
  readonly requestId: RequestIdentity;
  /** The device that it is about, once its endpoint has read it: for the account of its answer. */
  deviceId: DeviceId | null;
  /** The caller lets it be waited for: its time is no time of the server's. Once its endpoint has read it. */
  isLongPoll: boolean;
  /** Of the peer; within the turn in which the call is handled. */
  remoteAddress(): string;
  /** At most one listener: called once if the caller hangs up before the answer, at once if that has happened. */
  onGone(listener: () => void): void;
}

/** The effective request id, and whether it is the caller's, ours because none came, or ours because theirs is invalid. */
export interface RequestIdentity {
  readonly id: RequestId;
  readonly origin: 'caller' | 'absent' | 'invalid';
}

export interface Reply extends RepeatMark {
  readonly code: Code;
  readonly message: string;
  readonly data: JsonText | null;
  /** Whole seconds for `Retry-After`. */
  readonly retryAfterS?: number;
}

export interface Route {
  /** The label in metrics. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Maximum size of the body, bytes; beyond it 41300. */
  readonly bodyBytesMax: number;
  readonly permission: Permission;
  /** The rate at which an application may call the route; null: no limit before its handler. */
  readonly limit: LimitName | null;
  readonly envelope: EnvelopeShape;
  /** HTTP status of code 0. */
  readonly successStatus: 200 | 202;
  /** True: a failure's HTTP status is the first three digits of its code; false: 200, the caller reads the code. */
  readonly statusFromCode: boolean;
  /** True: X-Request-ID is the caller's to choose. */
  readonly takesRequestId: boolean;
  /** Answered while no signature can be verified, where the endpoint has no 50301. */
  readonly unverifiedCode?: 50000;
  /** True: a 42901 of the handler carries Retry-After, whatever the HTTP status. */
  readonly tellsWhenToRetry?: true;
  /** True: its handler notes the address of the peer. */
  readonly notesAddress?: true;
  /** True: the answer may come long after the request, and the credential has to hold then, too. */
  readonly asksAgain?: true;
  /** An error is a sentence for the caller: 40003. */
  parse(call: UnreadCall, rules: ParseRules): Result<unknown, string>;
  /** Calls that it counts as at the limit of its application; absent: one. */
  costOf?(params: Result<unknown, string>): number;
  /** `params`: a value of `parse`. */
  handle(params: unknown, call: Call, services: ApiServices): Reply | Promise<Reply>;
  /** Called with every answer to a request of its path and method, also one before `handle`. Must not throw. */
  answered?(answered: WakeupAnswered, services: ApiServices): void;
}

const common = { bodyBytesMax, successStatus: 200, takesRequestId: false } as const;

/** HTTP 200 also for failures: the caller reads the code. */
export const plain = { ...common, envelope: 'plain', statusFromCode: false } as const;

/** The HTTP status is that of the code. */
export const coded = { ...common, envelope: 'with-request-id', statusFromCode: true } as const;

/** An answer of the core that is no success. */
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

/** `permission`: what it lacks. */
export function refusePermission(permission: Permission): Reply {
  return refuse(refusal(40301, `${codeTexts[40301]} ${permission}`));
}

export type Handler<Params> = (params: Params, call: Call, services: ApiServices) => Reply | Promise<Reply>;

/** The parts of a row that know the type of its parameters. */
export function parsed<Params>(
  parse: (call: UnreadCall, rules: ParseRules) => Result<Params, string>,
  handle: Handler<Params>,
): Pick<Route, 'parse' | 'handle'> {
  return { parse, handle: (params, call, services) => handle(params as Params, call, services) };
}

type Answer<Value, Failed> = Result<Value, Failed> & RepeatMark;

/**
 * The reply to the core's answer, whose value `encode` writes as JSON, and `encodeFailure` what a failure has beside its
 * code: in this turn where the answer is there. `noteOf`: what is said of a success, if it is more than that it is one.
 */
export function replyWith<Value, Failed extends Failure = Failure>(
  answer: Answer<Value, Failed> | Promise<Answer<Value, Failed>>,
  encode: (value: Value) => JsonText,
  encodeFailure?: (failure: Failed) => string | null,
  noteOf?: (value: Value) => string | undefined,
): Reply | Promise<Reply> {
  if (answer instanceof Promise)
    return answer.then((settled) => replyWith(settled, encode, encodeFailure, noteOf));
  const { repeatOf } = answer;
  const reply: Reply = answer.ok
    ? { code: 0, message: noteOf?.(answer.value) ?? codeTexts[0], data: encode(answer.value) }
    : { ...refuse(answer.error), data: encodeFailure?.(answer.error) ?? null };
  return repeatOf === undefined ? reply : { ...reply, repeatOf };
}

/** The application that signed the call, and the identity of the request. */
export function signedBy({ credential, signature, signatureExpiresMs }: Call): {
  readonly appId: ApplicationId;
} & SignedRequest {
  return { appId: credential.appId, signature, signatureExpiresMs };
}

/** The reply while no signature can be verified. */
export function unverified(route: Route): Reply {
  return unavailable(route, 'signatures cannot be verified now');
}

export function unavailable({ unverifiedCode }: Route, message: string): Reply {
  return { code: unverifiedCode ?? 50301, message, data: null, retryAfterS: 1 };
}

/** A signature that does not hold is 401 on every path. */
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
