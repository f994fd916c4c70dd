/**
 * Claims, which is what Authorization says before its signature, kept as they were read: for a method of a client the same
 * a whole day long, so that one is taken apart once and not with each request. Found by its very text: another byte is
 * another claim.
 */
import type { AccessKeyId } from '../../model/ids.ts';

export interface Claim {
  /** As it came. */
  readonly text: string;
  readonly accessKeyId: AccessKeyId;
  /** Eight digits; whether they are the right day is not checked here. */
  readonly scopeDay: string;
  /** As it came. */
  readonly signedHeaders: string;
  /** Its names; null: it is no list of signed headers. */
  readonly names: readonly string[] | null;
}

/** Claims kept at once. They are looked through one by one, and a busy server has few clients at a time. */
export const signingClaimsMax = 16;

/** Beyond `signingClaimsMax` the one kept longest makes room. */
export class LatestClaims {
  readonly #claims: Claim[] = [];
  #next = 0;

  get size(): number {
    return this.#claims.length;
  }

  find(text: string): Claim | null {
    for (const claim of this.#claims) if (claim.text === text) return claim;
    return null;
  }

  keep(claim: Claim): void {
    this.#claims[this.#next] = claim;
    this.#next = (this.#next + 1) % signingClaimsMax;
  }
}
