/**
 * Which signed requests are known, by signature while its date is within the clock window: a repeat of one under way
 * joins it, and a repeat of one that was answered is answered alike. An answer that says "come again" is not kept.
 * Bounded; full means 42901, and nothing known is forgotten. Source: tgv1-signing.md, Replay.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { Refusal } from '../../model/codes.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import { ExpiringKeys, signatureKey } from '../devices/expiring-keys.ts';

interface KnownRequest<Answer> {
  /** A promise while it is under way. */
  answer: Answer | Promise<Answer>;
}

export class AnswerMemory<Answer extends Result<unknown, Refusal>> {
  readonly #bySignature: ExpiringKeys<KnownRequest<Answer>>;

  constructor(clock: Clock, knownMax: number) {
    this.#bySignature = new ExpiringKeys(clock, knownMax);
  }

  get isFull(): boolean {
    return this.#bySignature.isFull;
  }

  /** The answer of the request this one repeats, or null when it is to be done. */
  repeated({ signature }: SignedRequest): Answer | Promise<Answer> | null {
    return this.#bySignature.get(signatureKey(signature))?.answer ?? null;
  }

  /** From now on a repeat is answered like it. */
  keep({ signature, signatureExpiresMs }: SignedRequest, answer: Answer): void {
    this.#bySignature.set(signatureKey(signature), { answer }, signatureExpiresMs);
  }

  /** From now on a repeat joins it; once it is answered it is kept or forgotten by its answer. */
  begin({ signature, signatureExpiresMs }: SignedRequest, answer: Promise<Answer>): void {
    const key = signatureKey(signature);
    const known: KnownRequest<Answer> = { answer };
    this.#bySignature.set(key, known, signatureExpiresMs);
    void answer.then(
      (settled) => {
        known.answer = settled;
        if (saysComeAgain(settled)) this.#bySignature.delete(key);
      },
      () => this.#bySignature.delete(key),
    );
  }
}

function saysComeAgain(answer: Result<unknown, Refusal>): boolean {
  return !answer.ok && (answer.error.retryAfterS !== undefined || answer.error.code === 50000);
}
