/** Signature verification on the main thread: always (`auth.verification = inline`), or until the threads of the pool run. */
import type { SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import { verifySignature } from '../../protocol/tgv1/signature.ts';

export const inlineVerifier = {
  verify: verifySignature,
  close: () => Promise.resolve(),
} satisfies SignatureVerifier;

/** A start does not wait for threads: it verifies here until `begin` has opened another verifier, and if that fails. */
export class LateVerifier implements SignatureVerifier {
  #current: SignatureVerifier = inlineVerifier;
  #opening: Promise<void> = Promise.resolve();

  /** Call once, before `close`. `onFault`: with the error of a failed opening. */
  begin(open: () => Promise<SignatureVerifier>, onFault: (error: unknown) => void): void {
    this.#opening = open().then((opened) => {
      this.#current = opened;
    }, onFault);
  }

  verify(...asked: Parameters<SignatureVerifier['verify']>): ReturnType<SignatureVerifier['verify']> {
    return this.#current.verify(...asked);
  }

  async close(): Promise<void> {
    await this.#opening;
    await this.#current.close();
  }
}
