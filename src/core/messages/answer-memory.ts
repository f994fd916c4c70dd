/**
 * The signed requests that are known, by signature while its date is within the clock window: a repeat of one under way
 * joins it, and a repeat of one that was answered is answered alike. Bounded; full means 42901, and nothing known is
 * forgotten. A step of the wall clock makes no request valid a second time: an entry stays for the time that its date had left
 * when it came, by the monotonic clock, and a request that is dated before a forgotten entry is rejected.
 * Source: tgv1-signing.md, Replay; docs/adr/0008.
 */
import { type Clock, wallSeconds } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { Refusal } from '../../model/codes.ts';
import type { SignedRequest } from '../../model/signed-request.ts';

interface KnownRequest<Answer> {
  /** A promise while it is under way. */
  answer: Answer | Promise<Answer>;
}

export class AnswerMemory<Answer extends Result<unknown, Refusal>> {
  readonly #bySignature: ExpiringKeys<KnownRequest<Answer>>;
  readonly #isKept: (answer: Answer) => boolean;
  readonly #answered: (request: SignedRequest, answer: Answer) => void;

  /**
   * `isKept`: an answer that a repeat is given too; after any other the request may be tried again. `answered`: notifies other
   * members, which may be asked for a repeat; must not throw.
   */
  constructor(
    clock: Clock,
    knownMax: number,
    isKept: (answer: Answer) => boolean = isFinal,
    answered: (request: SignedRequest, answer: Answer) => void = () => undefined,
  ) {
    this.#isKept = isKept;
    this.#answered = answered;
    this.#bySignature = new ExpiringKeys(clock, knownMax);
  }

  /** False: the answer is 42901, because the memory is full, or an entry with a later date is already forgotten. */
  hasRoomFor({ signatureExpiresMs }: SignedRequest): boolean {
    return this.#bySignature.hasRoomFor(signatureExpiresMs);
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
        if (!this.#isKept(settled)) this.#bySignature.delete(key);
        this.#answered({ signature, signatureExpiresMs }, settled);
      },
      () => this.#bySignature.delete(key),
    );
  }
}

/** It does not say to come again. */
export function isFinal(answer: Result<unknown, Refusal>): boolean {
  return answer.ok || (answer.error.retryAfterS === undefined && answer.error.code !== 50000);
}

/** Entries that end in the same second of the wall clock. */
interface ExpiringGroup {
  readonly keys: string[];
  /** Monotonic; later than the second only after the wall clock stepped forward. */
  keptUntilMs: number;
}

/**
 * A bounded map whose entries end at a wall-clock second of their own. Dates come from callers, so expiry is not
 * in order of arrival: entries are grouped by second, and a second is dropped at once.
 */
class ExpiringKeys<Value> {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #values = new Map<string, Value>();
  readonly #bySecond = new Map<number, ExpiringGroup>();
  #sweptAt: number;
  /** The latest second whose entries were dropped. */
  #forgottenSecond = 0;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
    this.#sweptAt = wallSeconds(clock);
  }

  hasRoomFor(expiresMs: number): boolean {
    this.#sweep();
    return this.#values.size < this.#max && secondOf(expiresMs) > this.#forgottenSecond;
  }

  get(key: string): Value | undefined {
    this.#sweep();
    return this.#values.get(key);
  }

  /** One that is known stays in its second's group: a signature has one date. */
  set(key: string, value: Value, expiresMs: number): void {
    const isNew = !this.#values.has(key);
    this.#values.set(key, value);
    if (!isNew) return;
    const second = secondOf(expiresMs);
    const keptUntilMs = this.#clock.monotonicMs() + second * 1000 - this.#clock.wallMs();
    const group = this.#bySecond.get(second);
    if (group === undefined) {
      this.#bySecond.set(second, { keys: [key], keptUntilMs });
      return;
    }
    group.keys.push(key);
    group.keptUntilMs = Math.max(group.keptUntilMs, keptUntilMs);
  }

  /** Its place in the second's group goes with the second. */
  delete(key: string): void {
    this.#values.delete(key);
  }

  /** At most one pass a second over at most a window's worth of seconds. */
  #sweep(): void {
    const now = wallSeconds(this.#clock);
    if (now === this.#sweptAt) return;
    this.#sweptAt = now;
    const nowMs = this.#clock.monotonicMs();
    for (const [second, { keys, keptUntilMs }] of this.#bySecond) {
      if (second > now || keptUntilMs > nowMs) continue;
      for (const key of keys)
        if (this.#values.delete(key)) this.#forgottenSecond = Math.max(this.#forgottenSecond, second);
      this.#bySecond.delete(second);
    }
  }
}

/** The first second of the wall clock in which the signature is refused by its date. */
function secondOf(expiresMs: number): number {
  return Math.floor(expiresMs / 1000) + 1;
}

/** A signature as a key: 32 characters instead of 64 hex digits, and no reference into the header it was cut from. */
function signatureKey(signature: string): string {
  return Buffer.from(signature, 'hex').toString('latin1');
}
