/**
 * Conversions of sound on the main thread, for all sessions: a packet decoded there costs half as much as one that crosses to a worker
 * and back. A crafted one costs milliseconds, so that the time of one turn of the event loop is bounded. Source: calls-and-media.md, The
 * media process.
 */
import { deferred, type Deferred } from '../../lib/deferred.ts';
import { soundTurnMsMax } from '../../model/media/sound-limits.ts';
import type { SoundResult } from '../../model/media/sound.ts';
import type { Engine, openEngine } from '../codec/engine.ts';

export class MainThreadSound {
  readonly #open: typeof openEngine;
  #opening: ReturnType<typeof openEngine> | null = null;
  #opened: Awaited<ReturnType<typeof openEngine>> | null = null;
  /** Since the first packet of this turn. */
  #spentMs = 0;
  #nextTurn: Deferred<void> | null = null;

  constructor(open: typeof openEngine) {
    this.#open = open;
  }

  /**
   * Works as soon as a turn of the event loop has time; packets take their turns in order. The first use loads the engine, which blocks
   * the thread once for some 35 ms. Null: it does not load. Rejects if `work` throws.
   */
  async perform(work: (engine: Engine) => SoundResult): Promise<SoundResult | null> {
    this.#opened ??= await (this.#opening ??= this.#open());
    if (!this.#opened.ok) return null;
    while (this.#spentMs >= soundTurnMsMax) await this.#nextTurn?.promise;
    const result = work(this.#opened.value);
    this.#spend(result.workMs);
    return result;
  }

  #spend(workMs: number): void {
    if (this.#nextTurn === null) {
      this.#nextTurn = deferred();
      setImmediate(this.#beginTurn);
    }
    this.#spentMs += workMs;
  }

  readonly #beginTurn = (): void => {
    const turn = this.#nextTurn;
    this.#nextTurn = null;
    this.#spentMs = 0;
    turn?.resolve();
  };
}
