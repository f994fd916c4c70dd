/** Verifies on the main loop: `auth.verification = inline`. */
import type { SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import { verifySignature } from '../../protocol/tgv1/verify-signature.ts';
import type { SignatureJob, SignatureVerdict } from '../../protocol/tgv1/verify-signature.ts';

export class InlineVerifier implements SignatureVerifier {
  verify(job: SignatureJob): SignatureVerdict {
    return verifySignature(job);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
