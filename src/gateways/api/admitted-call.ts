/** A call as a route gets it. A class: a closure for every request costs more than the rest of it. */
import type { Credential } from '../../model/registry.ts';
import type { Authentic } from './authenticator.ts';
import type { Exchange } from './exchange.ts';
import type { Call, RequestIdentity } from './route.ts';

export class AdmittedCall implements Call {
  readonly credential: Credential;
  readonly query: string;
  readonly body: Uint8Array;
  readonly bodySha256: string;
  readonly signature: string;
  readonly signatureExpiresMs: number;
  readonly requestId: RequestIdentity;
  readonly #exchange: Exchange;

  constructor(
    authentic: Authentic,
    query: string,
    body: Uint8Array,
    requestId: RequestIdentity,
    exchange: Exchange,
  ) {
    this.credential = authentic.credential;
    this.query = query;
    this.body = body;
    this.bodySha256 = authentic.bodySha256;
    this.signature = authentic.signature;
    this.signatureExpiresMs = authentic.signatureExpiresMs;
    this.requestId = requestId;
    this.#exchange = exchange;
  }

  onGone(listener: () => void): void {
    this.#exchange.onGone(listener);
  }
}
