/** The declaration of an endpoint; the pipeline does the rest. */
import type { Code } from '../../model/codes.ts';
import type { RequestId } from '../../model/ids.ts';
import type { Credential, Permission } from '../../model/registry.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import type { ApplicationLimit } from '../../core/devices/request-limits.ts';
import type { EnvelopeShape } from '../../protocol/rest/shared-fields.ts';

/** A call that is authentic and permitted; its parameters are not yet read. */
export interface Call extends SignedRequest {
  readonly credential: Credential;
  /** Raw, without `?`. */
  readonly query: string;
  readonly body: Uint8Array;
  /** Lowercase hex; checked against the body. */
  readonly bodySha256: string;
  readonly requestId: RequestIdentity;
  /** At most one listener: called once if the caller hangs up before the answer, at once if that has happened. */
  onGone(listener: () => void): void;
}

/** The effective request id, and whether it is the caller's, ours because none came, or ours because theirs is invalid. */
export interface RequestIdentity {
  readonly id: RequestId;
  readonly origin: 'caller' | 'absent' | 'invalid';
}

export interface Reply {
  readonly code: Code;
  readonly message: string;
  /** JSON text, or null. */
  readonly data: string | null;
  /** Whole seconds for `Retry-After`. */
  readonly retryAfterS?: number;
}

export interface Route {
  /** The label in metrics. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly permission: Permission;
  readonly envelope: EnvelopeShape;
  /** HTTP status of code 0. */
  readonly successStatus: 200 | 202;
  /** True: a failure's HTTP status is the first three digits of its code; false: 200, the caller reads the code. */
  readonly statusFromCode: boolean;
  /** What is answered while no signature can be verified, where the endpoint has no 50301. */
  readonly unverifiedCode?: 50000;
  /** How often an application may ask this; null or left out: as often as it likes. */
  readonly limit?: ApplicationLimit | null;
  /** True: X-Request-ID is the caller's to choose. */
  readonly takesRequestId: boolean;
  /** True: the answer may come long after the request, and the credential has to hold then, too. */
  readonly asksAgain?: true;
  handle(call: Call): Reply | Promise<Reply>;
}

export function refuse(failure: { code: Code; message: string; retryAfterS?: number }): Reply {
  return { ...failure, data: null };
}
