/** A member whose answers a test scripts; it records questions and notices. */
import type { MemberId } from '../../src/model/cluster.ts';
import type {
  PeerAnswer,
  PeerKind,
  PeerNotice,
  PeerQuestion,
} from '../../src/protocol/cluster/peer-message.ts';
import type { PeerHost } from '../../src/core/ports/peers.ts';
import { answers } from './peer-messages.ts';

export class ScriptedHost implements PeerHost {
  readonly asked: PeerQuestion[] = [];
  readonly notices: { readonly notice: PeerNotice; readonly from: MemberId }[] = [];
  /** True: questions stay pending until `answerHeld`. */
  isHolding = false;
  readonly #held: ((answer: PeerAnswer) => void)[] = [];
  #waiting: { readonly isMet: () => boolean; readonly resolve: () => void }[] = [];

  answer<Kind extends PeerKind>(question: PeerQuestion<Kind>): Promise<PeerAnswer<Kind>> {
    this.asked.push(question);
    this.#resolveMet();
    if (!this.isHolding) return Promise.resolve(answers[question.kind][0] as PeerAnswer<Kind>);
    return new Promise((resolve) => {
      this.#held.push(resolve as (answer: PeerAnswer) => void);
    });
  }

  receive(notice: PeerNotice, from: MemberId): void {
    this.notices.push({ notice, from });
    this.#resolveMet();
  }

  /** `place`: index among the pending questions. */
  answerHeld(place: number, answer: PeerAnswer): void {
    this.#held[place]?.(answer);
  }

  askedTimes(count: number): Promise<void> {
    return this.#until(() => this.asked.length >= count);
  }

  receivedNotices(count: number): Promise<void> {
    return this.#until(() => this.notices.length >= count);
  }

  #until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ isMet, resolve });
      this.#resolveMet();
    });
  }

  #resolveMet(): void {
    for (const { resolve } of this.#waiting.filter(({ isMet }) => isMet())) resolve();
    this.#waiting = this.#waiting.filter(({ isMet }) => !isMet());
  }
}
