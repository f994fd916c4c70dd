/** Logins at an edge without an answer of the core. The listener limits their number, as it does for handshakes. */
import type { Admission, SleepConnection } from '../core/ports/device-sessions.ts';
import type { SleepLogin } from '../model/sleep.ts';
import type { EdgeMessage } from '../protocol/edge-link/edge-message.ts';

export interface LoginQuestion {
  readonly login: SleepLogin;
  readonly sessionKey: string;
  readonly connection: SleepConnection;
  readonly hasRoom: boolean;
  readonly address: string;
}

interface WaitingLogin {
  readonly question: LoginQuestion;
  readonly answer: (admission: Admission) => void;
}

type Admit = Extract<EdgeMessage, { readonly kind: 'admit' }>;

export class WaitingLogins {
  readonly #isTaken: (number: number) => boolean;
  readonly #send: (message: Admit) => void;
  readonly #waiting = new Map<number, WaitingLogin>();
  #numbers = 0;

  /** `isTaken`: an open session has the number. */
  constructor(isTaken: (number: number) => boolean, send: (message: Admit) => void) {
    this.#isTaken = isTaken;
    this.#send = send;
  }

  /** `isLinked` false: the login waits for `askAgain`. Never rejects. */
  ask(question: LoginQuestion, isLinked: boolean): Promise<Admission> {
    return new Promise((answer) => {
      const number = this.#add({ question, answer });
      if (isLinked) this.#sendQuestion(number, question);
    });
  }

  find(number: number): LoginQuestion | null {
    return this.#waiting.get(number)?.question ?? null;
  }

  answer(number: number, admission: Admission): void {
    this.#waiting.get(number)?.answer(admission);
    this.#waiting.delete(number);
  }

  /** Sends all again under new numbers: answers of the previous core may have been lost. */
  askAgain(): void {
    this.forgetAbandoned();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const login of waiting) this.#sendQuestion(this.#add(login), login.question);
  }

  /** Drops logins whose peers disconnected, or were refused, while there was no core. */
  forgetAbandoned(): void {
    for (const [number, { question }] of this.#waiting)
      if (!question.connection.isOpen) this.answer(number, 'busy');
  }

  #add(login: WaitingLogin): number {
    // Numbers repeat after 2^32: skip those in use.
    do this.#numbers = (this.#numbers + 1) >>> 0;
    while (this.#isTaken(this.#numbers) || this.#waiting.has(this.#numbers));
    this.#waiting.set(this.#numbers, login);
    return this.#numbers;
  }

  #sendQuestion(number: number, { login, sessionKey, hasRoom, address }: LoginQuestion): void {
    const line = `${login.signedText} ${Buffer.from(login.mac).toString('hex')}`;
    this.#send({ kind: 'admit', number, line, sessionKey, hasRoom, address });
  }
}
