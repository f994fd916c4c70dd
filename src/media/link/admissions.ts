/** The questions of a media process who is let in, answered by the desk: so many at once, each in its own time. */
import type { LegRefusal } from '../../model/call.ts';
import { succeed, type Result } from '../../lib/result.ts';
import { linkQuestionsMax } from '../../model/limits.ts';
import type { AdmittedLeg, MediaMessage, ServerMessage } from '../../protocol/media-link/link-message.ts';
import type { LegService } from '../../core/ports/leg-service.ts';
import type { GrantedLegs } from './granted-legs.ts';

export type AdmissionQuestion = Extract<
  MediaMessage,
  { readonly kind: 'admit-device' | 'admit-bridge' | 'admit-viewer' }
>;

export interface AdmissionsDeps {
  readonly service: LegService;
  readonly legs: GrantedLegs;
  send(message: ServerMessage): void;
}

export class Admissions {
  readonly #deps: AdmissionsDeps;
  #open = 0;
  #isOver = false;

  constructor(deps: AdmissionsDeps) {
    this.#deps = deps;
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
    const outcome = await judge(this.#deps.service, question);
    this.#open -= 1;
    if (this.#isOver) return;
    if (!outcome.ok) this.#refuse(question, outcome.error);
    else this.#admit(question, outcome.value);
  }

  #admit({ question }: AdmissionQuestion, admitted: AdmittedLeg): void {
    const leg = this.#deps.legs.grant(admitted);
    this.#deps.send({ kind: 'admitted', question, leg, admitted });
  }

  #refuse({ question }: AdmissionQuestion, refusal: LegRefusal): void {
    this.#deps.send({ kind: 'refused', question, refusal });
  }
}

async function judge(
  service: LegService,
  question: AdmissionQuestion,
): Promise<Result<AdmittedLeg, LegRefusal>> {
  switch (question.kind) {
    case 'admit-device': {
      const outcome = await service.admitDevice(question.token);
      return outcome.ok ? succeed({ kind: 'device', admission: outcome.value }) : outcome;
    }
    case 'admit-bridge': {
      const outcome = await service.admitBridge(question.key, question.sessionId);
      return outcome.ok ? succeed({ kind: 'bridge', admission: outcome.value }) : outcome;
    }
    case 'admit-viewer': {
      const outcome = await service.admitViewer(question.ticket);
      return outcome.ok ? succeed({ kind: 'viewer', admission: outcome.value }) : outcome;
    }
  }
}
