/**
 * The answers that repeats of signed requests are given, by what was asked for: they go with the sessions to the next
 * server, so that a request that is sent again after an upgrade is not done again.
 */
import type { AnsweredBefore } from '../../core/messages/answer-memory.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';
import type { KeptAnswer } from './hand-over-messages.ts';

interface Memory {
  answered(): Iterable<AnsweredBefore<unknown>>;
  keep(request: SignedRequest, answer: never): void;
}

export class AnswerMemories {
  readonly #memories: ReadonlyMap<string, Memory>;

  constructor({ memory: wakeups, messages, wakings, issued, callEnds }: AnswerContext) {
    const memories: Readonly<Record<string, Memory>> = {
      wakeups,
      messages,
      wakings,
      issued,
      ends: callEnds.answered,
    };
    this.#memories = new Map(Object.entries(memories));
  }

  *answered(): Generator<KeptAnswer> {
    for (const [memory, known] of this.#memories)
      for (const answered of known.answered()) yield { memory, ...answered };
  }

  /** A memory that this release does not have is passed over. */
  keep({ memory, answer, ...request }: KeptAnswer): void {
    this.#memories.get(memory)?.keep(request, answer as never);
  }
}

type AnswerContext = Pick<ServerContext, 'memory' | 'messages' | 'wakings' | 'issued' | 'callEnds'>;
