/** The questions of a media process who is let in, answered by the desk: so many at once, each in its own time. */
import type { LegRefusal } from '../../model/call.ts';
import { succeed, type Outcome } from '../../lib/outcome.ts';
import { linkQuestionsMax } from '../../model/limits.ts';
import type { AdmittedLeg, MediaMessage, ServerMessage } from '../../protocol/media-link/link-message.ts';
import type { CallDesk } from '../../core/ports/call-desk.ts';
import type { GrantedLegs } from './granted-legs.ts';

export type AdmissionQuestion = Extract<
  MediaMessage,
  { readonly kind: 'admit-device' | 'admit-bridge' | 'admit-viewer' }
>;

export interface AdmissionsHouse {
  readonly desk: CallDesk;
  readonly legs: GrantedLegs;
  send(message: ServerMessage): void;
}

export class Admissions {
  readonly #house: AdmissionsHouse;
  #open = 0;
  #isOver = false;

  constructor(house: AdmissionsHouse) {
    this.#house = house;
  }

  /** Nobody is let in any more. */
  end(): void {
    this.#isOver = true;
  }

  ask(question: AdmissionQuestion): void {
    if (this.#open >= linkQuestionsMax) this.#refuse(question, 'busy');
    else void this.#answer(question);
  }

  async #answer(question: AdmissionQuestion): Promise<void> {
    this.#open += 1;
    const outcome = await judge(this.#house.desk, question);
    this.#open -= 1;
    if (this.#isOver) return;
    if (!outcome.ok) this.#refuse(question, outcome.error);
    else this.#admit(question, outcome.value);
  }

  #admit({ question }: AdmissionQuestion, admitted: AdmittedLeg): void {
    const leg = this.#house.legs.grant(admitted);
    this.#house.send({ kind: 'admitted', question, leg, admitted });
  }

  #refuse({ question }: AdmissionQuestion, refusal: LegRefusal): void {
    this.#house.send({ kind: 'refused', question, refusal });
  }
}

async function judge(desk: CallDesk, question: AdmissionQuestion): Promise<Outcome<AdmittedLeg, LegRefusal>> {
  switch (question.kind) {
    case 'admit-device': {
      const outcome = await desk.admitDevice(question.token);
      return outcome.ok ? succeed({ kind: 'device', admission: outcome.value }) : outcome;
    }
    case 'admit-bridge': {
      const outcome = await desk.admitBridge(question.key, question.sessionId);
      return outcome.ok ? succeed({ kind: 'bridge', admission: outcome.value }) : outcome;
    }
    case 'admit-viewer': {
      const outcome = await desk.admitViewer(question.ticket);
      return outcome.ok ? succeed({ kind: 'viewer', admission: outcome.value }) : outcome;
    }
  }
}
