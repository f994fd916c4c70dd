/**
 * Questions to other members that are not answered yet: so many at most, each for as long as it was given, each settled
 * once. How they get there, and what is known of one whose time is up, is for who sends them.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { DeadlineWheel, type WheelEntry } from '../../lib/deadline-wheel.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { PeerAnswerMessage } from '../../protocol/cluster/peer-message.ts';
import { peerQuestionsMax } from '../../model/limits.ts';
import type { PeerAnswer, PeerFailure, PeerKind } from '../../model/peer.ts';

/** How late a question may be given up. */
const tickMs = 5;

type Settle = (outcome: Result<PeerAnswer, PeerFailure>) => void;

class OpenAsk implements WheelEntry {
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;

  readonly id: number;
  readonly kind: PeerKind;
  readonly deadlineMs: number;
  readonly settle: Settle;

  constructor(id: number, kind: PeerKind, deadlineMs: number, settle: Settle) {
    this.id = id;
    this.kind = kind;
    this.deadlineMs = deadlineMs;
    this.settle = settle;
  }
}

export class OpenAsks {
  readonly #clock: Clock;
  readonly #late: (id: number) => PeerFailure;
  readonly #open = new Map<number, OpenAsk>();
  readonly #wheel: DeadlineWheel<OpenAsk>;
  #asked = 0;
  /** Null: nothing is open. */
  #stopTurning: Cancel | null = null;

  /** `late`: what is known of a question whose time is up. */
  constructor(clock: Clock, late: (id: number) => PeerFailure = () => 'unanswered') {
    this.#clock = clock;
    this.#late = late;
    this.#wheel = new DeadlineWheel(tickMs, clock.monotonicMs(), ({ id }) => this.failed(id, late(id)));
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * `send` hands the question over, by its number, before this returns; false: it could not, and nobody has it. Settles
   * within `waitMs` and never rejects.
   */
  ask<Kind extends PeerKind>(
    kind: Kind,
    waitMs: number,
    send: (id: number) => boolean,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    if (waitMs <= 0 || this.#open.size >= peerQuestionsMax) return Promise.resolve(fail('unsent'));
    this.#asked = (this.#asked + 1) >>> 0;
    const id = this.#asked;
    const nowMs = this.#clock.monotonicMs();
    return new Promise((resolve) => {
      const ask = new OpenAsk(id, kind, nowMs + waitMs, resolve);
      this.#turnFrom(nowMs);
      this.#open.set(id, ask);
      this.#wheel.add(ask);
      if (!send(id)) this.failed(id, 'unsent');
    });
  }

  /** False: it answers another kind of question than was asked. Too late, it is nobody's. */
  answered({ id, to, answer }: PeerAnswerMessage): boolean {
    if ((this.#open.get(id)?.kind ?? to) !== to) return false;
    this.#settle(id, succeed(answer));
    return true;
  }

  failed(id: number, failure: PeerFailure): void {
    this.#settle(id, fail(failure));
  }

  /** `verdict`: what is known of each; null: it stays open. */
  failAll(verdict: (id: number) => PeerFailure | null = this.#late): void {
    for (const id of this.#open.keys()) {
      const failure = verdict(id);
      if (failure !== null) this.failed(id, failure);
    }
  }

  #settle(id: number, outcome: Result<PeerAnswer, PeerFailure>): void {
    const ask = this.#open.get(id);
    if (ask === undefined) return;
    this.#open.delete(id);
    this.#wheel.remove(ask);
    ask.settle(outcome);
  }

  /** One timer for all, while there is one to wait for. */
  #turnFrom(nowMs: number): void {
    if (this.#stopTurning !== null) return;
    this.#wheel.turn(nowMs);
    this.#stopTurning = this.#clock.every(tickMs, () => this.#turn());
  }

  #turn(): void {
    this.#wheel.turn(this.#clock.monotonicMs());
    if (this.#open.size > 0) return;
    this.#stopTurning?.();
    this.#stopTurning = null;
  }
}
