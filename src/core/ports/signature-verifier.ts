/** Checks signatures on the main loop or on worker threads; the caller need not know which. */
import type { SignatureJob, SignatureVerdict } from '../../protocol/tgv1/signature.ts';

/** What `verify` throws, and nothing else: as many wait as may, or it was closed. Callers answer 50301. */
export class VerifierUnavailable extends Error {
  readonly reason: 'full' | 'closed';

  constructor(reason: 'full' | 'closed') {
    super(reason === 'full' ? 'too many signatures wait to be verified' : 'the verifier is closed');
    this.name = 'VerifierUnavailable';
    this.reason = reason;
  }
}

export interface SignatureVerifier {
  /**
   * The verdict when it is there in this turn; `later` when a worker finds it, and then `settle` is called with it,
   * once, in a later turn. A callback and not a promise: this is called for every request there is. Throws
   * VerifierUnavailable when no worker can take it. Keeps nothing of the job: its body may be overwritten once
   * this has returned.
   */
  verify(job: SignatureJob, settle: (verdict: SignatureVerdict) => void): SignatureVerdict | 'later';
  /** Resolves when everything accepted has its verdict. */
  close(): Promise<void>;
}
