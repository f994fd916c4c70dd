/**
 * Which messages are known, by signature while its date is within the clock window: a repeat of one under way joins
 * it, and a repeat of one that was answered is answered alike and sends nothing. An answer that says "come again" is
 * not kept. Bounded; full means 42901, and nothing known is forgotten. Source: signal-wire.md, Sending a message.
 */
import type { Clock } from '../base/clock.ts';
import type { Outcome } from '../base/outcome.ts';
import type { MessageCode, Refusal } from '../domain/codes.ts';
import { messagesKnownMax } from '../domain/limits.ts';
import type { MessageReceipt, MessageRequest } from '../domain/message.ts';
import { ExpiringKeys, signatureKey } from './expiring-keys.ts';

export type MessageAnswer = Outcome<MessageReceipt, Refusal<MessageCode>>;

interface KnownMessage {
  /** A promise while it is under way. */
  answer: MessageAnswer | Promise<MessageAnswer>;
}

export class MessageMemory {
  readonly #bySignature: ExpiringKeys<KnownMessage>;

  constructor(clock: Clock, knownMax: number = messagesKnownMax) {
    this.#bySignature = new ExpiringKeys(clock, knownMax);
  }

  get isFull(): boolean {
    return this.#bySignature.isFull;
  }

  /** The answer of the message this one repeats, or null when it is to be sent. */
  repeated(request: MessageRequest): MessageAnswer | Promise<MessageAnswer> | null {
    return this.#bySignature.get(signatureKey(request.signature))?.answer ?? null;
  }

  /** From now on a repeat is answered like it. */
  keep(request: MessageRequest, answer: MessageAnswer): void {
    this.#bySignature.set(signatureKey(request.signature), { answer }, request.signatureExpiresMs);
  }

  /** From now on a repeat joins it; once it is answered it is kept or forgotten by its answer. */
  begin(request: MessageRequest, answer: Promise<MessageAnswer>): void {
    const key = signatureKey(request.signature);
    const known: KnownMessage = { answer };
    this.#bySignature.set(key, known, request.signatureExpiresMs);
    void answer.then(
      (settled) => {
        known.answer = settled;
        if (saysComeAgain(settled)) this.#bySignature.delete(key);
      },
      () => this.#bySignature.delete(key),
    );
  }
}

function saysComeAgain(answer: MessageAnswer): boolean {
  return !answer.ok && answer.error.retryAfterS !== undefined;
}
