/** The identity of a signed request, by which a repeat is recognised. Source: tgv1-signing.md, Replay. */
export interface SignedRequest {
  /** 64 hex digits; within the clock window, the same signature is the same request. */
  readonly signature: string;
  /** Wall milliseconds after which the date invalidates the signature, which need not be remembered any longer. */
  readonly signatureExpiresMs: number;
}
