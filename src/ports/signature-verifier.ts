/** Checks signatures on the main loop or on worker threads; the caller need not know which. */
import type { SignatureJob, SignatureVerdict } from '../tgv1/verify-signature.ts';

/** What `verify` rejects with, and nothing else: as many wait as may, or it was closed. Callers answer 50301. */
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
   * A value when checked inline; a promise when a worker does it. Rejects when no worker can take it. Keeps
   * nothing of the job: its body may be overwritten once this has returned.
   */
  verify(job: SignatureJob): SignatureVerdict | Promise<SignatureVerdict>;
  /** Resolves when everything accepted has its verdict. */
  close(): Promise<void>;
}
