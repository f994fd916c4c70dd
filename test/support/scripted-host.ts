/** A member that answers what the test says, when it says so, and keeps what it is asked and told. */
import type { MemberId } from '../../src/model/cluster.ts';
import type { PeerAnswer, PeerKind, PeerNotice, PeerQuestion } from '../../src/model/peer.ts';
import type { PeerHost } from '../../src/core/ports/peers.ts';
import { answers } from './peer-messages.ts';

export class ScriptedHost implements PeerHost {
  readonly asked: PeerQuestion[] = [];
  readonly notices: { readonly notice: PeerNotice; readonly from: MemberId }[] = [];
  /** What is asked while it is true waits for `answerHeld`. */
  isHolding = false;
  readonly #held: ((answer: PeerAnswer) => void)[] = [];
  #waiting: { readonly isMet: () => boolean; readonly resolve: () => void }[] = [];

  answer<Kind extends PeerKind>(question: PeerQuestion<Kind>): Promise<PeerAnswer<Kind>> {
    this.asked.push(question);
    this.#look();
    if (!this.isHolding) return Promise.resolve(answers[question.kind][0] as PeerAnswer<Kind>);
    return new Promise((resolve) => {
      this.#held.push(resolve);
    });
  }

  receive(notice: PeerNotice, from: MemberId): void {
    this.notices.push({ notice, from });
    this.#look();
  }

  /** `place`: of those that were held, the first is 0. */
  answerHeld(place: number, answer: PeerAnswer): void {
    this.#held[place]?.(answer);
  }

  /** Resolves when it has been asked so often. */
  askedTimes(count: number): Promise<void> {
    return this.#until(() => this.asked.length >= count);
  }

  toldTimes(count: number): Promise<void> {
    return this.#until(() => this.notices.length >= count);
  }

  #until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ isMet, resolve });
      this.#look();
    });
  }

  #look(): void {
    for (const { resolve } of this.#waiting.filter(({ isMet }) => isMet())) resolve();
    this.#waiting = this.#waiting.filter(({ isMet }) => !isMet());
  }
}
