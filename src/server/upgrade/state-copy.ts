/**
 * The state of a server on its way to its successor, in parts: most of it while the server serves, the rest once it has let go
 * of its sessions.
 */
import { handleOf } from '../../lib/bound-sockets.ts';
import { handOverSlice } from '../../model/upgrade-limits.ts';
import type { KeptAnswer } from './hand-over-messages.ts';
import type { ServerHandOver, TakeOver } from './server-hand-over.ts';
import type { Successor } from './successor.ts';

export class StateCopy {
  readonly leaving: ServerHandOver;
  readonly #successor: Successor;
  readonly #sockets = new Set<string>();
  readonly #answers = new Set<string>();
  #hasListeningSockets = false;

  constructor(successor: Successor, leaving: ServerHandOver) {
    this.#successor = successor;
    this.leaving = leaving;
  }

  /** How many were copied. */
  get sockets(): number {
    return this.#sockets.size;
  }

  /** The sockets and answers there are now; again, those that have come since. */
  async copy(): Promise<void> {
    await this.#copyListeningSockets();
    for (const { sessionId, handle } of this.leaving.liveSockets()) {
      if (this.#sockets.has(sessionId)) continue;
      this.#sockets.add(sessionId);
      await this.#successor.order({ kind: 'session-socket', sessionId }, handle);
    }
    await this.#copyAnswers(this.leaving.answers());
  }

  /** Has the copies closed of sessions that are over by now: whoever was disconnected is to see it. */
  async closeEnded(): Promise<void> {
    const live = new Set(this.leaving.liveSessionIds());
    const ended = Array.from(this.#sockets).filter((sessionId) => !live.has(sessionId));
    for (const sessionId of ended) this.#sockets.delete(sessionId);
    for (let at = 0; at < ended.length; at += handOverSlice)
      await this.#successor.order({ kind: 'sessions-over', sessionIds: ended.slice(at, at + handOverSlice) });
  }

  /** What is still missing of it, and the sessions. */
  async finish({ sessions, answers }: TakeOver): Promise<void> {
    for (const { moved, socket } of sessions) {
      const handle = this.#sockets.has(moved.sessionId) ? null : handleOf(socket);
      if (handle !== null)
        await this.#successor.order({ kind: 'session-socket', sessionId: moved.sessionId }, handle);
    }
    await this.#copyAnswers(answers);
    for (let at = 0; at < sessions.length; at += handOverSlice) {
      const slice = sessions.slice(at, at + handOverSlice);
      const rows = slice.map(({ moved, state }) => ({ moved, state }));
      await this.#successor.order({ kind: 'sessions', sessions: rows });
    }
  }

  async #copyListeningSockets(): Promise<void> {
    if (this.#hasListeningSockets) return;
    this.#hasListeningSockets = true;
    for (const socket of this.leaving.sleepSockets)
      await this.#successor.order({ kind: 'listening-socket' }, socket);
  }

  async #copyAnswers(all: Iterable<KeptAnswer>): Promise<void> {
    const fresh = [...all].filter(({ signature }) => !this.#answers.has(signature));
    for (const { signature } of fresh) this.#answers.add(signature);
    for (let at = 0; at < fresh.length; at += handOverSlice)
      await this.#successor.order({ kind: 'answers', answers: fresh.slice(at, at + handOverSlice) });
  }
}
