/**
 * Conversions of sound on the main thread, for all sessions: a decoder costs half as much there as with the way to a worker and back. A
 * crafted packet of Opus costs 3 ms at most, so what one turn of the event loop spends is bounded. Source: calls-and-media.md, The media
 * process.
 */
import { deferred, type Deferred } from '../../lib/deferred.ts';
import { soundTurnMsMax } from '../../model/media/sound-limits.ts';
import type { Engine, openEngine } from '../codec/engine.ts';

export class MainThreadSound {
  readonly #open: typeof openEngine;
  #opening: Promise<Engine | null> | null = null;
  /** Since the first packet of this turn. */
  #spentMs = 0;
  #nextTurn: Deferred<void> | null = null;

  constructor(open: typeof openEngine) {
    this.#open = open;
  }

  /** Loaded on first use, which blocks the thread once for some 35 ms. Null: it does not load. */
  engine(): Promise<Engine | null> {
    this.#opening ??= this.#open().then((opened) => (opened.ok ? opened.value : null));
    return this.#opening;
  }

  /** Resolves when a turn of the event loop has time for a packet; packets are admitted in order. */
  async whenFree(): Promise<void> {
    while (this.#spentMs >= soundTurnMsMax) await this.#nextTurn?.promise;
  }

  /** `workMs`: time that a packet took. */
  spend(workMs: number): void {
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
