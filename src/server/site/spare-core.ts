/**
 * A spare core, with its code loaded, which is most of a start. It has no task until it replaces a core that dies. Source:
 * scale-out.md, Edges (2 s at 20 000 sessions, 6 s at 150 000).
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import type { CoreLife } from './core-task.ts';
import { spareCoreDelayMs, spareCoreRetryMs } from './site-limits.ts';

export interface SpareCoreOptions extends Pick<CoreDeps, 'clock' | 'log'> {
  /** Throws when the process could not be created. */
  readonly start: () => CoreLife;
}

export class SpareCore {
  readonly #options: SpareCoreOptions;
  #life: CoreLife | null = null;
  #isClosed = false;
  #cancel: Cancel | null = null;

  constructor(options: SpareCoreOptions) {
    this.#options = options;
  }

  /** Hands out the spare, and cancels its preparation; null: none. */
  acquire(): CoreLife | null {
    this.#cancel?.();
    this.#cancel = null;
    const life = this.#life;
    this.#life = null;
    return life;
  }

  /** Starts a spare after `delayMs` if there is none. */
  prepare(delayMs = spareCoreDelayMs): void {
    if (this.#isClosed || this.#life !== null || this.#cancel !== null) return;
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#cancel = null;
      this.#start();
    });
  }

  /** Replaces the spare of a release that no longer serves. */
  renew(): void {
    this.acquire()?.kill();
    this.prepare();
  }

  close(): void {
    this.#isClosed = true;
    this.acquire()?.kill();
  }

  #start(): void {
    const { log, start } = this.#options;
    try {
      const life = start();
      this.#life = life;
      void life.loaded.then(() => {
        if (this.#life === life) log.info({ pid: life.pid }, 'spare core: ready');
      });
      void life.ended.then((why) => {
        if (this.#life !== life) return;
        this.#life = null;
        log.warn({ pid: life.pid, why, retry_ms: spareCoreRetryMs }, 'spare core: died; will retry');
        this.prepare(spareCoreRetryMs);
      });
    } catch (error) {
      log.warn({ err: error, retry_ms: spareCoreRetryMs }, 'spare core: cannot start; will retry');
      this.prepare(spareCoreRetryMs);
    }
  }
}
