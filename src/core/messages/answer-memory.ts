/**
 * Remembers signed requests by signature while their dates are within the clock window: a repeat of one in progress joins it, and a
 * repeat of an answered one gets the same answer. Bounded; full means 42901, and no entry is dropped early. A step of the wall
 * clock cannot make a request valid twice: an entry stays, by the monotonic clock, for the time that its date had left on arrival,
 * and a request dated before an expired entry is rejected. Source: tgv1-signing.md, Replay; docs/adr/0008.
 */
import { ShardedMap } from '../../lib/collections/sharded-map.ts';
import { type Clock, wallSeconds } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { Refusal } from '../../model/codes.ts';
import type { SignedRequest } from '../../model/signed-request.ts';

interface KnownRequest<Answer> {
  answer: Answer | Promise<Answer>;
}

export class AnswerMemory<Answer extends Result<unknown, Refusal>> {
  readonly #bySignature: ExpiringKeys<KnownRequest<Answer>>;
  readonly #isKept: (answer: Answer) => boolean;
  readonly #answered: (request: SignedRequest, answer: Answer) => void;
  /** A request is looked up and then begun, in one turn. */
  #latest = { signature: '', key: '' };

  /**
   * `isKept`: true if repeats get this answer; otherwise a repeat is executed again. `answered`: notifies other members, which a
   * repeat may reach; must not throw.
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

  /** False: answer 42901, because the memory is full, or an entry with a later date has expired already. */
  hasRoomFor({ signatureExpiresMs }: SignedRequest): boolean {
    return this.#bySignature.hasRoomFor(signatureExpiresMs);
  }

  /** The answer to the request that this one repeats; null: execute it. */
  repeated({ signature }: SignedRequest): Answer | Promise<Answer> | null {
    if (this.#bySignature.isEmpty) return null;
    return this.#bySignature.get(this.#keyOf(signature))?.answer ?? null;
  }

  keep({ signature, signatureExpiresMs }: SignedRequest, answer: Answer): void {
    this.#bySignature.set(this.#keyOf(signature), { answer }, signatureExpiresMs);
  }

  /** Repeats join the request from now on; its answer is then kept or dropped by `isKept`. */
  begin({ signature, signatureExpiresMs }: SignedRequest, answer: Promise<Answer>): void {
    const key = this.#keyOf(signature);
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

  #keyOf(signature: string): string {
    if (this.#latest.signature !== signature) this.#latest = { signature, key: signatureKey(signature) };
    return this.#latest.key;
  }
}

/** True: the answer does not ask for a retry. */
export function isFinal(answer: Result<unknown, Refusal>): boolean {
  return answer.ok || (answer.error.retryAfterS === undefined && answer.error.code !== 50000);
}

/** Entries that expire in the same second of the wall clock. */
interface ExpiringGroup {
  readonly keys: string[];
  /** Monotonic; later than the second only after the wall clock stepped forward. */
  keptUntilMs: number;
}

/**
 * A bounded map whose entries expire at a wall-clock second of their own. Dates come from callers, so expiry is not in order of
 * arrival: entries are grouped by second, and a second is dropped at once.
 */
class ExpiringKeys<Value> {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #values = new ShardedMap<string, Value>();
  readonly #bySecond = new Map<number, ExpiringGroup>();
  #sweptAt: number;
  /** Latest expired second with entries. */
  #forgottenSecond = 0;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
    this.#sweptAt = wallSeconds(clock);
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  hasRoomFor(expiresMs: number): boolean {
    this.#sweep();
    return this.#values.size < this.#max && secondOf(expiresMs) > this.#forgottenSecond;
  }

  get(key: string): Value | undefined {
    this.#sweep();
    return this.#values.get(key);
  }

  /** A known key stays in its group: a signature has one date. */
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

  /** The key stays in its group until that second expires. */
  delete(key: string): void {
    this.#values.delete(key);
  }

  /** At most one pass per second, over at most a window of seconds. */
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

/** 32 characters instead of 64 hex digits, without a reference to the header that it was cut from. */
function signatureKey(signature: string): string {
  return Buffer.from(signature, 'hex').toString('latin1');
}
