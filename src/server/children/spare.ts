/**
 * A child process as its supervisor has it, and the spare that waits beside those that serve: its code is loaded, which
 * is most of a start, and it is nobody yet. Source: calls-and-media.md, The media process.
 */
import { type Cancel, type Clock, settlesWithin } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';

export interface Child {
  readonly pid: number | null;
  /** Resolves, once, when it is gone: how it ended, in a few words. */
  readonly ended: Promise<string>;
  /** Ends it where it stands, also when it is stopped. */
  kill(): void;
}

/** A child that lived so long, in ms, died of something else than its start. */
export const soundLifeMs = 5000;

/** Resolves when the child is gone: by itself, `ending` within `msMax`, or killed, which `overdue` logs. */
export async function endOrKill(child: Child, { clock, msMax, ending, overdue }: EndOptions): Promise<void> {
  if (await settlesWithin(clock, msMax, ending)) return;
  overdue();
  child.kill();
  await child.ended;
}

interface EndOptions {
  readonly clock: Clock;
  readonly msMax: number;
  readonly ending: Promise<unknown>;
  readonly overdue: () => void;
}

export interface SpareOptions<One extends Child> {
  readonly clock: Clock;
  readonly log: Log;
  /** For the log: `process`, `media process`. */
  readonly name: string;
  /** A spare is not started at once: what has just begun to serve needs the machine more. */
  readonly delayMs: number;
  /** Throws when the machine has no process to give. */
  readonly start: () => One;
  /** Of a new spare: `isWaiting` is false as soon as it is taken, or gone. */
  readonly onStart?: (spare: One, isWaiting: () => boolean) => void;
}

export class Spare<One extends Child> {
  readonly #options: SpareOptions<One>;
  #child: One | null = null;
  #isClosed = false;
  #cancel: Cancel | null = null;

  constructor(options: SpareOptions<One>) {
    this.#options = options;
  }

  /** Null: there is none, and none is being prepared any more. */
  take(): One | null {
    this.#cancel?.();
    this.#cancel = null;
    const child = this.#child;
    this.#child = null;
    return child;
  }

  /** Has another one in `delayMs`, if there is none. */
  prepare(): void {
    if (this.#isClosed || this.#child !== null || this.#cancel !== null) return;
    const { clock, delayMs } = this.#options;
    this.#cancel = clock.after(delayMs, () => {
      this.#cancel = null;
      this.#start();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.take()?.kill();
  }

  #start(): void {
    const { log, name, start, onStart } = this.#options;
    try {
      const child = start();
      this.#child = child;
      onStart?.(child, () => this.#child === child);
      void child.ended.then((how) => {
        if (this.#child !== child) return;
        this.#child = null;
        log.warn({ pid: child.pid, how }, `the spare ${name} died`);
        this.prepare();
      });
    } catch (error) {
      log.warn({ err: error }, `no spare ${name} can be started`);
      this.prepare();
    }
  }
}
