/** Verifies on the main loop: `auth.verification = inline`. */
import type { SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import { verifySignature, type SignatureJob, type SignatureVerdict } from '../../protocol/tgv1/signature.ts';

export class InlineVerifier implements SignatureVerifier {
  verify(job: SignatureJob): SignatureVerdict {
    return verifySignature(job);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
