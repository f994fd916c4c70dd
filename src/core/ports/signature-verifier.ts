/** Verifies signatures on the main loop or in worker threads. */
import type { SignatureJob, SignatureVerdict } from '../../protocol/tgv1/signature.ts';

/** The only error of `verify`: the queue is full, or the verifier is closed. Callers answer 50301. */
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
   * Returns the verdict if it is available in this turn; `later` if a worker computes it, and then calls `settle` once, in a later
   * turn. A callback rather than a promise: this runs for each request. Throws VerifierUnavailable when no worker has room. Keeps
   * no reference to the job: its body may be overwritten after the return.
   */
  verify(job: SignatureJob, onVerdict: (verdict: SignatureVerdict) => void): SignatureVerdict | 'later';
  /** Resolves once each accepted job has its verdict. */
  close(): Promise<void>;
}
