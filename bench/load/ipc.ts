/**
 * Questions and answers between a benchmark's parts, over the IPC channel of a child process. Several services can
 * share one channel: each answers under its own name. What a service can be asked is a type that both sides import.
 */
import type { ChildProcess } from 'node:child_process';

/** By the question's name: what it takes and what it gives. Both cross as JSON. */
export type Protocol = Record<string, { take: unknown; give: unknown }>;

export type Answers<Asked extends Protocol> = {
  readonly [Name in keyof Asked]: (
    take: Asked[Name]['take'],
  ) => Asked[Name]['give'] | Promise<Asked[Name]['give']>;
};

interface Question {
  readonly service: string;
  readonly number: number;
  readonly name: string;
  readonly take: unknown;
}

type Answer = { readonly service: string; readonly number: number } & (
  { readonly give: unknown } | { readonly error: string }
);

/** The services of this process, and what was asked before its service was open: a preload opens its own first. */
const services = new Map<string, (question: Question) => void>();
const unclaimed: Question[] = [];

/** The child's side: answers every question that is put to `service`. */
export function answerQuestions<Asked extends Protocol>(service: string, answers: Answers<Asked>): void {
  if (services.size === 0) process.on('message', takeQuestion);
  services.set(service, (question) => void answerOne(question, answers));
  for (const question of unclaimed.splice(0)) takeQuestion(question);
}

function takeQuestion(question: Question): void {
  const answer = services.get(question.service);
  if (answer === undefined) unclaimed.push(question);
  else answer(question);
}

async function answerOne<Asked extends Protocol>(question: Question, answers: Answers<Asked>): Promise<void> {
  const { service, number, name, take } = question;
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

/** The parent's side of one service. A child that dies rejects what it was asked. */
export class LocalLegService<Asked extends Protocol> {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #waiters = new Map<number, Waiter>();
  #asked = 0;

  constructor(child: ChildProcess, name: string) {
    this.#child = child;
    this.#name = name;
    child.on('message', (answer: Answer) => this.#settle(answer));
    child.once('exit', (code, signal) =>
      this.#abandon(new Error(`${name}: the process ended (${code ?? signal})`)),
    );
  }

  ask<Name extends keyof Asked & string>(
    name: Name,
    take: Asked[Name]['take'],
  ): Promise<Asked[Name]['give']> {
    this.#asked += 1;
    const question: Question = { service: this.#name, number: this.#asked, name, take };
    return new Promise((resolve, reject) => {
      this.#waiters.set(question.number, { resolve, reject });
      this.#child.send(question, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  #settle(answer: Answer): void {
    if (answer.service !== this.#name) return;
    const waiter = this.#waiters.get(answer.number);
    this.#waiters.delete(answer.number);
    if ('error' in answer) waiter?.reject(new Error(`${this.#name}: ${answer.error}`));
    else waiter?.resolve(answer.give);
  }

  #abandon(error: Error): void {
    for (const { reject } of this.#waiters.values()) reject(error);
    this.#waiters.clear();
  }
}
