/**
 * Requests and responses between a benchmark and its child processes, over IPC. A child has one service of its own and the
 * probe's. The type of a service is declared in the child; the benchmark imports only the type.
 */
import type { ChildProcess } from 'node:child_process';

/** Input and output of each request, by name. Both are sent as JSON. */
export type Protocol = Record<string, { take: unknown; give: unknown }>;

type Answers<Asked extends Protocol> = {
  readonly [Name in keyof Asked]: (
    take: Asked[Name]['take'],
  ) => Asked[Name]['give'] | Promise<Asked[Name]['give']>;
};

type ServiceName = 'own' | 'probe';

interface Question {
  readonly service: ServiceName;
  readonly number: number;
  readonly name: string;
  readonly take: unknown;
}

type Answer = Pick<Question, 'service' | 'number'> &
  ({ readonly give: unknown } | { readonly error: string });

/** Services of this process, and requests that arrived before their service; the probe's is preloaded. */
const services = new Map<ServiceName, (question: Question) => void>();
const early: Question[] = [];

export function answerQuestions<Asked extends Protocol>(
  answers: Answers<Asked>,
  service: ServiceName = 'own',
): void {
  if (services.size === 0) process.on('message', dispatch);
  services.set(service, (question) => void answerOne(question, answers));
  for (const question of early.splice(0)) dispatch(question);
}

function dispatch(question: Question): void {
  const answer = services.get(question.service);
  if (answer === undefined) early.push(question);
  else answer(question);
}

async function answerOne<Asked extends Protocol>(
  { service, number, name, take }: Question,
  answers: Answers<Asked>,
): Promise<void> {
  try {
    const give = await answers[name]?.(take);
    process.send?.({ service, number, give });
  } catch (error) {
    process.send?.({ service, number, error: error instanceof Error ? error.message : String(error) });
  }
}

interface Waiter {
  readonly resolve: (give: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Client of a child's service. The death of the child rejects all pending requests. */
export class ChildService<Asked extends Protocol> {
  readonly #child: ChildProcess;
  readonly #name: ServiceName;
  readonly #waiting = new Map<number, Waiter>();
  #asked = 0;

  constructor(child: ChildProcess, name: ServiceName) {
    this.#child = child;
    this.#name = name;
    child.on('message', (answer: Answer) => this.#complete(answer));
    child.once('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`${child.spawnargs.join(' ')}: ended (${code ?? signal})`));
    });
  }

  ask<Name extends keyof Asked & string>(
    name: Name,
    take: Asked[Name]['take'],
  ): Promise<Asked[Name]['give']> {
    this.#asked += 1;
    const question: Question = { service: this.#name, number: this.#asked, name, take };
    return new Promise((resolve, reject) => {
      this.#waiting.set(question.number, { resolve, reject });
      this.#child.send(question, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  #complete(answer: Answer): void {
    if (answer.service !== this.#name) return;
    const asked = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if ('error' in answer) asked?.reject(new Error(answer.error));
    else asked?.resolve(answer.give);
  }
}
