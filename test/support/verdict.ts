/** A verdict to wait for, wherever the verifier finds it. */
import type { SignatureVerifier } from '../../src/core/ports/signature-verifier.ts';
import type { SignatureJob, SignatureVerdict } from '../../src/protocol/tgv1/signature.ts';

/** Rejects with what the verifier throws. */
export function verdictOf(verifier: SignatureVerifier, job: SignatureJob): Promise<SignatureVerdict> {
  return new Promise((resolve) => {
    const verdict = verifier.verify(job, resolve);
    if (verdict !== 'later') resolve(verdict);
  });
}
