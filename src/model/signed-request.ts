/** The identity of a signed request, by which a repeat is recognised. Source: tgv1-signing.md, Replay. */
export interface SignedRequest {
  /** 64 hex digits; the same signature within the clock window is the same request. */
  readonly signature: string;
  /** Wall milliseconds after which the signature is refused by its date and need not be remembered. */
  readonly signatureExpiresMs: number;
}
