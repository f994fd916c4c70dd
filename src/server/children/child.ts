/**
 * A child process under its supervisor, from life to life. One that dies once it has served is started again: at first without
 * waiting, and later each time when it dies soon after its start. Source: scale-out.md, Edges.
 */
import type { ChildKind } from '../../lib/children/child-messages.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { Restarts } from '../../lib/restarts.ts';
import { messageOf } from '../../lib/result.ts';
import type { ChildFork } from './child-fork.ts';
import type { ChildLife } from './child-life.ts';
import { endOrKill, soundLifeMs } from './spare.ts';

/** `down`: it has died and has not been started again, or not yet. */
export type ChildState = 'starting' | 'up' | 'stopping' | 'down';

export interface ChildFacts {
  readonly state: ChildState;
  /** Null: it is down. */
  readonly pid: number | null;
  /** Of its program; null: it has not said hello. */
  readonly release: string | null;
  /** How often it had to be started again. */
  readonly restarts: number;
  /** Monotonic; null: it is down. */
  readonly startedMs: number | null;
}

export interface ChildOptions<Kind extends ChildKind, Fork extends ChildFork> {
  readonly clock: Clock;
  readonly log: Log;
  /** Of the kind of child, in sentences: `media process`. */
  readonly name: string;
  /** In each line of the log about it. */
  readonly fields: object;
  readonly restartMs: { readonly min: number; readonly max: number };
  /** Starts a process, or takes a spare one. Throws when the machine has no process to give. */
  readonly launch: () => ChildLife<Kind, Fork>;
  /** For a new life. `last`: facts of the one that served last; null: there was none. */
  readonly task: (life: ChildLife<Kind, Fork>, last: Kind['ready'] | null) => Kind['task'];
  readonly reported?: (report: Kind['report']) => void;
  /** Called when its facts change. */
  readonly changed?: () => void;
}

export class SupervisedChild<Kind extends ChildKind, Fork extends ChildFork = ChildFork> {
  readonly #options: ChildOptions<Kind, Fork>;
  readonly #restarts: Restarts;
  #life: ChildLife<Kind, Fork> | null = null;
  #startedMs = 0;
  #starts = 0;
  #last: Kind['ready'] | null = null;
  #isStopping = false;

  constructor(options: ChildOptions<Kind, Fork>) {
    const { clock, restartMs } = options;
    this.#options = options;
    // After one death there is no wait: its peers come back at once.
    this.#restarts = new Restarts(clock, { immediate: 1, msMin: restartMs.min, msMax: restartMs.max });
  }

  get facts(): ChildFacts {
    const restarts = Math.max(0, this.#starts - 1);
    const life = this.#life;
    if (life === null) return { state: 'down', pid: null, release: null, restarts, startedMs: null };
    const { pid, release } = life;
    const state = this.#isStopping ? 'stopping' : life.isUp ? 'up' : 'starting';
    return { state, pid, release, restarts, startedMs: this.#startedMs };
  }

  /** Resolves when it serves; rejects, with a sentence for the operator, when it has ended before: it is not started again then. */
  async start(): Promise<Kind['ready']> {
    const { clock, log, name, fields, launch, task } = this.#options;
    this.#starts += 1;
    this.#startedMs = clock.monotonicMs();
    const life = launch();
    this.#life = life;
    this.#changed();
    try {
      const given = task(life, this.#last);
      this.#last = await life.begin(given, (report) => this.#options.reported?.(report));
    } catch (error) {
      this.#life = null;
      this.#changed();
      throw new Error(`the ${name} does not start: ${messageOf(error)}`, { cause: error });
    }
    const startMs = Math.round(clock.monotonicMs() - this.#startedMs);
    log.info({ ...fields, pid: life.pid, ...this.#last, start_ms: startMs }, `the ${name} is up`);
    void life.ended.then(async (why) => this.#lost(life, why, await life.fork.ended));
    this.#changed();
    return this.#last;
  }

  /** Nothing happens while it is down. */
  order(order: Kind['order']): void {
    this.#life?.order(order);
  }

  /** It hangs, or is of no use any more: it is started again. `why`: a sentence; null: how it ends says enough. */
  kill(why: string | null): void {
    this.#life?.kill(why);
  }

  /** For good: in order within `msMax`, or killed. Resolves when it is gone. `drain`: of one that serves, before that order. */
  async stop(msMax: number, drain: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    this.#startNoMore();
    const life = this.#life;
    if (life === null) return;
    this.#changed();
    const { clock, log, name, fields } = this.#options;
    const stopping = async (): Promise<string> => {
      if (life.isUp) await drain();
      life.stop();
      return life.ended;
    };
    await endOrKill(life, {
      clock,
      msMax,
      ending: stopping(),
      overdue: () =>
        log.warn({ ...fields, pid: life.pid }, `the ${name} does not stop by itself and is killed`),
    });
  }

  /** For good, and at once. */
  close(): void {
    this.#startNoMore();
    this.#life?.kill();
  }

  #startNoMore(): void {
    this.#isStopping = true;
    this.#restarts.stop();
  }

  #lost({ pid }: ChildLife<Kind, Fork>, why: string, how: string): void {
    this.#life = null;
    this.#changed();
    if (this.#isStopping) return;
    const { clock, log, name, fields } = this.#options;
    const livedMs = Math.round(clock.monotonicMs() - this.#startedMs);
    const waitMs = this.#restarts.died(livedMs >= soundLifeMs);
    const death = { ...fields, pid, why, how, lived_ms: livedMs, restart_ms: waitMs };
    log.error(death, `the ${name} died; it is started again`);
    this.#restarts.startAfter(
      waitMs,
      async () => void (await this.start()),
      (error, nextMs) =>
        log.error({ ...fields, err: error, restart_ms: nextMs }, `the ${name} cannot be started`),
    );
  }

  #changed(): void {
    this.#options.changed?.();
  }
}
