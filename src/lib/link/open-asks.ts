/**
 * Unanswered questions to another process or thread: at most `max`, each with its own timeout, each resolved once. The sender
 * delivers them, and accounts for the effects of an expired one.
 */
import type { Cancel, Clock } from '../clock.ts';
import { RenewedMap } from '../collections/renewed-map.ts';
import { DeadlineWheel, type WheelEntry } from '../collections/deadline-wheel.ts';
import { fail, succeed, type Result } from '../result.ts';

/** Precision of timeouts: questions wait for seconds, and a timer per question is expensive. */
const tickMs = 25;

/** `Answers`: the type of the answer to each kind of question. */
export class OpenAsks<Answers extends object, Failure extends string> {
  readonly #clock: Clock;
  readonly #options: OpenAsksOptions<Failure>;
  readonly #open = new RenewedMap<number, OpenAsk<Answers, Failure>>();
  readonly #wheel: DeadlineWheel<OpenAsk<Answers, Failure>>;
  #asked = 0;
  #stopTurning: Cancel | null = null;

  constructor(clock: Clock, options: OpenAsksOptions<Failure>) {
    this.#clock = clock;
    this.#options = options;
    this.#wheel = new DeadlineWheel(tickMs, clock.monotonicMs(), ({ id }) =>
      this.failed(id, options.expired(id)),
    );
  }

  get size(): number {
    return this.#open.size;
  }

  ids(): Iterable<number> {
    return this.#open.keys();
  }

  /**
   * `send` hands over the question with its id (1 to 2^32 - 1) before this returns; false: it failed, and the question was not
   * delivered. Resolves within `waitMs`, which may be Infinity; never rejects.
   */
  ask<Kind extends KindOf<Answers>>(
    kind: Kind,
    waitMs: number,
    send: (id: number) => boolean,
  ): Promise<Result<Answers[Kind], Failure>> {
    const { max, unsent } = this.#options;
    if (waitMs <= 0 || this.#open.size >= max) return Promise.resolve(fail(unsent));
    this.#asked = (this.#asked + 1) >>> 0;
    const id = this.#asked;
    const nowMs = this.#clock.monotonicMs();
    return new Promise((resolve) => {
      // Answers to another kind of question are rejected in `answered`.
      const ask = new OpenAsk<Answers, Failure>(
        id,
        kind,
        nowMs + waitMs,
        resolve as OpenAsk<Answers, Failure>['resolve'],
      );
      this.#open.set(id, ask);
      if (waitMs < Infinity) this.#expireFrom(nowMs, ask);
      if (!send(id)) this.failed(id, unsent);
    });
  }

  /** False: the question was of another kind. A late answer is dropped. */
  answered(id: number, kind: KindOf<Answers>, answer: Answers[KindOf<Answers>]): boolean {
    if ((this.#open.get(id)?.kind ?? kind) !== kind) return false;
    this.#resolve(id, succeed(answer));
    return true;
  }

  failed(id: number, failure: Failure): void {
    this.#resolve(id, fail(failure));
  }

  /** `verdict`: the failure of each question; null: it stays open. */
  failAll(verdict: (id: number) => Failure | null = this.#options.expired): void {
    for (const id of this.#open.keys()) {
      const failure = verdict(id);
      if (failure !== null) this.failed(id, failure);
    }
    this.#rest();
  }

  #resolve(id: number, result: Result<Answers[KindOf<Answers>], Failure>): void {
    const ask = this.#open.get(id);
    if (ask === undefined) return;
    this.#open.delete(id);
    this.#wheel.remove(ask);
    ask.resolve(result);
  }

  #expireFrom(nowMs: number, ask: OpenAsk<Answers, Failure>): void {
    if (this.#stopTurning === null) this.#wheel.turn(nowMs);
    this.#stopTurning ??= this.#clock.every(tickMs, () => this.#turn());
    this.#wheel.add(ask);
  }

  #turn(): void {
    this.#wheel.turn(this.#clock.monotonicMs());
    this.#rest();
  }

  #rest(): void {
    if (this.#wheel.size > 0) return;
    this.#stopTurning?.();
    this.#stopTurning = null;
  }
}

export interface OpenAsksOptions<Failure> {
  readonly max: number;
  readonly unsent: Failure;
  readonly expired: (id: number) => Failure;
}

type KindOf<Answers> = keyof Answers & string;

class OpenAsk<Answers extends object, Failure> implements WheelEntry {
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;

  readonly id: number;
  readonly kind: KindOf<Answers>;
  readonly deadlineMs: number;
  readonly resolve: (result: Result<Answers[KindOf<Answers>], Failure>) => void;

  constructor(
    id: number,
    kind: KindOf<Answers>,
    deadlineMs: number,
    resolve: OpenAsk<Answers, Failure>['resolve'],
  ) {
    this.id = id;
    this.kind = kind;
    this.deadlineMs = deadlineMs;
    this.resolve = resolve;
  }
}
