/**
 * Authenticates a request by its signature: cheap checks here, in the order of the failure table, the expensive one in the
 * verifier. Source: tgv1-signing.md.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import {
  verdictFailure,
  type AuthFailure,
  type AuthFailureReason,
} from '../../protocol/tgv1/auth-failure.ts';
import {
  checkRequest,
  type CheckDependencies,
  type CheckedRequest,
} from '../../protocol/tgv1/check-request.ts';
import type { SignatureVerdict, SigningKeyCache } from '../../protocol/tgv1/signature.ts';
import type { ApiRequest } from './api-request.ts';

/** `authentic`: the request now holds its credential and the signed data. */
export type Authentication = 'authentic' | AuthenticationFailure;

export type AuthenticationFailure =
  /** `data`: JSON text with the values that the server computed, if the caller may see them. */
  | {
      readonly reason: AuthFailureReason;
      readonly message: string;
      readonly data: string | null;
    }
  /** The registry cannot be read, or the verifier is overloaded. */
  | 'unavailable';

export interface AuthenticatorDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly registry: Pick<RegistryReader, 'findCredential'>;
  readonly signingKeys: SigningKeyCache;
  readonly verifier: SignatureVerifier;
}

export interface AuthenticatorSettings {
  readonly windowMs: number;
  /** True: a mismatch for a known credential returns the values that the server computed. */
  readonly explainMismatch: boolean;
}

export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #settings: AuthenticatorSettings;
  /** One object for all requests: this is the hottest path. A getter would make V8 keep it as a slow dictionary. */
  readonly #dependencies: CheckDependencies;

  constructor(deps: AuthenticatorDeps, settings: AuthenticatorSettings) {
    const { clock, registry, signingKeys } = deps;
    this.#deps = deps;
    this.#settings = settings;
    this.#dependencies = {
      findCredential: (accessKeyId) => registry.findCredential(accessKeyId),
      signingKeys,
      windowMs: settings.windowMs,
      wallMs: () => clock.wallMs(),
    };
  }

  /** Returns the result if it is known in this turn; else null, and `onResult` is called later. Never throws. */
  authenticate(
    request: ApiRequest,
    onResult: (authentication: Authentication) => void,
  ): Authentication | null {
    try {
      const checked = checkRequest(request, this.#dependencies);
      if (!checked.ok) return this.#refuse(checked.error);
      const verdict = this.#deps.verifier.verify(checked.value.job, (later) =>
        onResult(this.#conclude(request, checked.value, later)),
      );
      return verdict === 'later' ? null : this.#conclude(request, checked.value, verdict);
    } catch (error) {
      return this.#unavailable(error);
    }
  }

  /** The reason to refuse a request whatever its body; null: the body decides. Never throws. */
  precheck(request: ApiRequest): AuthenticationFailure | null {
    try {
      const checked = checkRequest(request, this.#dependencies);
      return checked.ok ? null : this.#refuse(checked.error);
    } catch (error) {
      return this.#unavailable(error);
    }
  }

  #conclude(request: ApiRequest, checked: CheckedRequest, verdict: SignatureVerdict): Authentication {
    const { job, credential, dateMs } = checked;
    if (verdict !== 'valid') return this.#refuse(verdictFailure(verdict, job));
    request.prove(credential);
    request.signature = job.signature;
    request.signatureExpiresMs = dateMs + this.#settings.windowMs;
    return 'authentic';
  }

  #refuse({ reason, message, explained }: AuthFailure): AuthenticationFailure {
    const explains = explained !== undefined && this.#settings.explainMismatch;
    const data = explains
      ? JSON.stringify({
          canonical_request: explained.canonicalRequest,
          string_to_sign: explained.stringToSign,
        })
      : null;
    return { reason, message, data };
  }

  #unavailable(error: unknown): AuthenticationFailure {
    this.#deps.log.error({ err: error }, 'signature: cannot be verified; answered as unavailable');
    return 'unavailable';
  }
}
