/**
 * Questions to another process or thread that have no answer yet: at most `max`, each for as long as its asker waits, each settled
 * once. How a question gets there, and what an expired one may have caused, is the sender's.
 */
import type { Cancel, Clock } from '../clock.ts';
import { DeadlineWheel, type WheelEntry } from '../deadline-wheel.ts';
import { fail, succeed, type Result } from '../result.ts';

/** How late a question may be given up: they wait for seconds, and a timer that fires for each of them is dear. */
const tickMs = 25;

/** `Answers`: the type of the answer to each kind of question. */
export class OpenAsks<Answers extends object, Failure extends string> {
  readonly #clock: Clock;
  readonly #options: OpenAsksOptions<Failure>;
  readonly #open = new Map<number, OpenAsk<Answers, Failure>>();
  readonly #wheel: DeadlineWheel<OpenAsk<Answers, Failure>>;
  #asked = 0;
  /** Null: nothing is open that has a deadline. */
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

  /** By their numbers. */
  ids(): Iterable<number> {
    return this.#open.keys();
  }

  /**
   * `send` hands the question over, by its number (1 to 2^32 - 1), before this returns; false: it could not, and nobody
   * has it. Settles within `waitMs`, which may be Infinity, and never rejects.
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
      // An answer to a question of another kind is not let through.
      const settle = resolve as OpenAsk<Answers, Failure>['settle'];
      const ask = new OpenAsk<Answers, Failure>(id, kind, nowMs + waitMs, settle);
      this.#open.set(id, ask);
      if (waitMs < Infinity) this.#expireFrom(nowMs, ask);
      if (!send(id)) this.failed(id, unsent);
    });
  }

  /** False: the question was of another kind. A late answer is dropped. */
  answered(id: number, kind: KindOf<Answers>, answer: Answers[KindOf<Answers>]): boolean {
    if ((this.#open.get(id)?.kind ?? kind) !== kind) return false;
    this.#settle(id, succeed(answer));
    return true;
  }

  failed(id: number, failure: Failure): void {
    this.#settle(id, fail(failure));
  }

  /** `verdict`: the failure of each question; null: it stays open. */
  failAll(verdict: (id: number) => Failure | null = this.#options.expired): void {
    for (const id of this.#open.keys()) {
      const failure = verdict(id);
      if (failure !== null) this.failed(id, failure);
    }
    this.#rest();
  }

  #settle(id: number, result: Result<Answers[KindOf<Answers>], Failure>): void {
    const ask = this.#open.get(id);
    if (ask === undefined) return;
    this.#open.delete(id);
    this.#wheel.remove(ask);
    ask.settle(result);
  }

  /** One timer for all, while any is open. */
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
  /** Of a question that nobody has got. */
  readonly unsent: Failure;
  /** Of a question whose time is up. */
  readonly expired: (id: number) => Failure;
}

type KindOf<Answers> = keyof Answers & string;

class OpenAsk<Answers extends object, Failure> implements WheelEntry {
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;

  readonly id: number;
  readonly kind: KindOf<Answers>;
  readonly deadlineMs: number;
  readonly settle: (result: Result<Answers[KindOf<Answers>], Failure>) => void;

  constructor(
    id: number,
    kind: KindOf<Answers>,
    deadlineMs: number,
    settle: OpenAsk<Answers, Failure>['settle'],
  ) {
    this.id = id;
    this.kind = kind;
    this.deadlineMs = deadlineMs;
    this.settle = settle;
  }
}
