/** The declaration of an endpoint; the pipeline does the rest. */
import type { Result } from '../../lib/result.ts';
import { codeTexts, refusal, type Code } from '../../model/codes.ts';
import type { DeviceId, RequestId } from '../../model/ids.ts';
import type { Credential, Permission } from '../../model/registry.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import type { RepeatMark } from '../../model/wakeup.ts';
import type { ApplicationLimit } from '../../core/devices/request-limits.ts';
import type { WakeupAnswered } from '../../core/wakeups/answered-wakeups.ts';
import type { EnvelopeShape, JsonText } from '../../protocol/rest/shared-fields.ts';

/** A call that is authentic and permitted; its parameters are not yet read. */
export interface Call extends SignedRequest {
  readonly credential: Credential;
  /** Raw, without `?`. */
  readonly query: string;
  readonly body: Uint8Array;
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
  readonly permission: Permission;
  readonly envelope: EnvelopeShape;
  /** HTTP status of code 0. */
  readonly successStatus: 200 | 202;
  /** True: a failure's HTTP status is the first three digits of its code; false: 200, the caller reads the code. */
  readonly statusFromCode: boolean;
  /** What is answered while no signature can be verified, where the endpoint has no 50301. */
  readonly unverifiedCode?: 50000;
  /** True: a 42901 of the endpoint says when to come again, whatever the HTTP status. */
  readonly tellsWhenToRetry?: true;
  /** How often an application may ask this; null or left out: as often as it likes. */
  readonly limit?: ApplicationLimit | null;
  /** True: X-Request-ID is the caller's to choose. */
  readonly takesRequestId: boolean;
  /** True: the answer may come long after the request, and the credential has to hold then, too. */
  readonly asksAgain?: true;
  handle(call: Call): Reply | Promise<Reply>;
  /** Told of every answer to a request of its path and method, those before `handle` too. Must not throw. */
  answered?(answered: WakeupAnswered): void;
}

/** HTTP's 200 whatever became of it: the caller reads the code. */
export const plain = {
  envelope: 'plain',
  successStatus: 200,
  statusFromCode: false,
  takesRequestId: false,
} as const;

/** The HTTP status is that of the code. */
export const coded = {
  envelope: 'with-request-id',
  successStatus: 200,
  statusFromCode: true,
  takesRequestId: false,
} as const;

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

type Answer<Value, Failed> = Result<Value, Failed> & RepeatMark;

/**
 * Makes replies of the core's answers, whose values `encode` writes as JSON, and `encodeFailure` what a failure has beside
 * its code: in this turn where the answer is there. `noteOf`: what is said of a success, if it is more than that it is one.
 */
export function replyWith<Value, Failed extends Failure = Failure>(
  encode: (value: Value) => JsonText,
  encodeFailure: (failure: Failed) => string | null = () => null,
  noteOf: (value: Value) => string | undefined = () => undefined,
): (answer: Answer<Value, Failed> | Promise<Answer<Value, Failed>>) => Reply | Promise<Reply> {
  const replyTo = (answer: Answer<Value, Failed>): Reply =>
    answer.ok
      ? { code: 0, message: noteOf(answer.value) ?? codeTexts[0], data: encode(answer.value) }
      : { ...refuse(answer.error), data: encodeFailure(answer.error) };
  const reply = (answer: Answer<Value, Failed>): Reply => {
    const { repeatOf } = answer;
    return repeatOf === undefined ? replyTo(answer) : { ...replyTo(answer), repeatOf };
  };
  return (answer) => (answer instanceof Promise ? answer.then(reply) : reply(answer));
}
