/**
 * Who is calling, by the signature: the cheap checks here in the order of the table of failures, the expensive one
 * wherever the verifier does it. Source: tgv1-signing.md.
 */
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import { isCredentialValid, type Credential } from '../../model/registry.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import type { Log } from '../../core/ports/log.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import {
  authFailures,
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
import type { IncomingRequest } from './incoming-request.ts';

export interface Authentic extends SignedRequest {
  readonly kind: 'authentic';
  readonly credential: Credential;
  readonly bodySha256: string;
}

export type Authentication =
  | Authentic
  /** `data` is JSON text: what the server computed, where that may be told. */
  | {
      readonly kind: 'refused';
      readonly reason: AuthFailureReason;
      readonly message: string;
      readonly data: string | null;
    }
  /** The registry cannot be read, or no worker can take the check. */
  | { readonly kind: 'unavailable' };

export interface AuthenticatorDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly signingKeys: SigningKeyCache;
  readonly verifier: SignatureVerifier;
  readonly log: Log;
}

export interface AuthenticatorSettings {
  readonly windowMs: number;
  /** Tell a known credential what the server computed. */
  readonly explainMismatch: boolean;
}

const unavailable: Authentication = { kind: 'unavailable' };

export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #settings: AuthenticatorSettings;
  /** One for all requests: this path is the hottest there is. */
  readonly #dependencies: CheckDependencies;

  constructor(deps: AuthenticatorDeps, settings: AuthenticatorSettings) {
    const { clock, registry, signingKeys } = deps;
    this.#deps = deps;
    this.#settings = settings;
    this.#dependencies = {
      findCredential: (accessKeyId) => registry.findCredential(accessKeyId),
      signingKeys,
      windowMs: settings.windowMs,
      get nowMs() {
        return clock.wallMs();
      },
    };
  }

  /** The answer when it is there in this turn; null when `settle` is called with it later. Never throws. */
  authenticate(
    incoming: IncomingRequest,
    body: Uint8Array,
    settle: (authentication: Authentication) => void,
  ): Authentication | null {
    const checked = this.#check(incoming, body);
    if ('kind' in checked) return checked;
    try {
      const verdict = this.#deps.verifier.verify(checked.job, (later) =>
        settle(this.#conclude(checked, later)),
      );
      return verdict === 'later' ? null : this.#conclude(checked, verdict);
    } catch (error) {
      return this.#unavailable(error);
    }
  }

  /** The same of a request that was authentic when it came, by the credential as it is now. Never throws. */
  again(authentic: Authentic): Authentication {
    const { registry, clock } = this.#deps;
    const { accessKeyId, secretKey, appId } = authentic.credential;
    try {
      const credential = registry.findCredential(accessKeyId);
      const isTheSame = credential?.secretKey === secretKey && credential.appId === appId;
      return isTheSame && isCredentialValid(credential, wallSeconds(clock))
        ? { ...authentic, credential }
        : this.#refuse(authFailures.unknownCredential);
    } catch (error) {
      return this.#unavailable(error);
    }
  }

  #check(incoming: IncomingRequest, body: Uint8Array): CheckedRequest | Authentication {
    const { method, path, query, headers, repeatsSingleHeader } = incoming;
    const request = {
      method,
      path,
      query,
      headers,
      repeated: repeatsSingleHeader,
      body: body.length === 0 ? null : body,
    };
    try {
      const checked = checkRequest(request, this.#dependencies);
      return checked.ok ? checked.value : this.#refuse(checked.error);
    } catch (error) {
      return this.#unavailable(error);
    }
  }

  #conclude(checked: CheckedRequest, verdict: SignatureVerdict): Authentication {
    const failure = verdictFailure(verdict, checked.job);
    if (failure !== null) return this.#refuse(failure);
    return {
      kind: 'authentic',
      credential: checked.credential,
      signature: checked.job.signature,
      signatureExpiresMs: checked.dateMs + this.#settings.windowMs,
      bodySha256: checked.job.bodySha256,
    };
  }

  #refuse({ reason, message, explained }: AuthFailure): Authentication {
    const notifies = explained !== undefined && this.#settings.explainMismatch;
    const data = notifies
      ? JSON.stringify({
          canonical_request: explained.canonicalRequest,
          string_to_sign: explained.stringToSign,
        })
      : null;
    return { kind: 'refused', reason, message, data };
  }

  #unavailable(error: unknown): Authentication {
    this.#deps.log.error({ err: error }, 'a signature cannot be verified');
    return unavailable;
  }
}
