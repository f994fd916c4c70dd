/**
 * A process that waits for one to die: its code is loaded, which is most of a start, and it is nobody yet. Without one
 * the sessions of a process that was lost would wait for a second longer. Source: cluster.md, Several processes on one machine.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { processSpareDelayMs } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { ProcessFork } from './process-messages.ts';

interface SpareDeps {
  readonly clock: Clock;
  readonly log: Log;
  fork(): ProcessFork;
}

export class SupervisorSpare {
  readonly #deps: SpareDeps;
  #fork: ProcessFork | null = null;
  #isClosed = false;
  #cancel: Cancel | null = null;

  constructor(deps: SpareDeps) {
    this.#deps = deps;
  }

  /** Throws when there is none, and the machine has no process to give. */
  takeOrFork(): ProcessFork {
    this.#cancel?.();
    this.#cancel = null;
    const fork = this.#fork ?? this.#deps.fork();
    this.#fork = null;
    return fork;
  }

  /** Not at once: what has just begun to serve, and the devices that come back to it, need the machine more. */
  prepare(): void {
    if (this.#isClosed || this.#fork !== null || this.#cancel !== null) return;
    this.#cancel = this.#deps.clock.after(processSpareDelayMs, () => {
      this.#cancel = null;
      this.#start();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#fork?.kill();
    this.#fork = null;
  }

  #start(): void {
    const { log } = this.#deps;
    try {
      const fork = this.#deps.fork();
      this.#fork = fork;
      void fork.ended.then((how) => {
        if (this.#fork !== fork) return;
        this.#fork = null;
        log.warn({ pid: fork.pid, how }, 'the spare process died');
        this.prepare();
      });
    } catch (error) {
      log.warn({ err: error }, 'no spare process can be started');
      this.prepare();
    }
  }
}
