/**
 * A supervised child process. After its first start it is restarted whenever it dies: at once, or with back-off when it died soon after
 * a start. Source: scale-out.md, Edges.
 */
import type { ChildKind } from '../../lib/children/child-messages.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { Restarts } from '../../lib/restarts.ts';
import { messageOf } from '../../lib/result.ts';
import { endOrKill, type ChildFork } from './child-fork.ts';
import type { ChildLife } from './child-life.ts';

/** `down`: no process. */
export type ChildState = 'starting' | 'up' | 'stopping' | 'down';

export interface ChildFacts {
  readonly state: ChildState;
  readonly pid: number | null;
  /** Version of its program; null: no hello yet. */
  readonly release: string | null;
  readonly restarts: number;
  /** Wall milliseconds of its start; null: down. */
  readonly sinceMs: number | null;
}

export interface ChildOptions<Kind extends ChildKind, Fork extends ChildFork> {
  readonly clock: Clock;
  readonly log: Log;
  /** Kind of child, for sentences: `media process`. */
  readonly name: string;
  /** Fields of every log line about it. */
  readonly fields: object;
  readonly restartMs: { readonly min: number; readonly max: number };
  /** Throws when the process could not be created. */
  readonly launch: () => ChildLife<Kind, Fork>;
  /** Task of a new process. `last`: facts of the process that was ready last; null: none. `failure`: as `#failure`. */
  readonly task: (
    life: ChildLife<Kind, Fork>,
    last: Kind['ready'] | null,
    failure: string | null,
  ) => Kind['task'];
  readonly reported?: (report: Kind['report']) => void;
  /** Called when a ready child has died; it is restarted unless this call stops it. `why`: a few words or a sentence. */
  readonly died?: (why: string) => void;
  /** Called when its facts change. */
  readonly changed?: () => void;
}

/** A process that lived this long did not die of its start. */
const soundLifeMs = 5000;

export class SupervisedChild<Kind extends ChildKind, Fork extends ChildFork = ChildFork> {
  readonly #options: ChildOptions<Kind, Fork>;
  readonly #restarts: Restarts;
  #life: ChildLife<Kind, Fork> | null = null;
  #startedMs = 0;
  #starts = 0;
  #last: Kind['ready'] | null = null;
  /** Reason of the last start if it failed; already logged. Null: it succeeded. */
  #failure: string | null = null;
  #isStopping = false;

  constructor(options: ChildOptions<Kind, Fork>) {
    const { clock, restartMs } = options;
    this.#options = options;
    // No delay after the first death: peers reconnect at once.
    this.#restarts = new Restarts(clock, { immediate: 1, msMin: restartMs.min, msMax: restartMs.max });
  }

  get facts(): ChildFacts {
    const restarts = Math.max(0, this.#starts - 1);
    const life = this.#life;
    if (life === null) return { state: 'down', pid: null, release: null, restarts, sinceMs: null };
    const { pid, release } = life;
    const state = this.#isStopping ? 'stopping' : life.isUp ? 'up' : 'starting';
    const { clock } = this.#options;
    const sinceMs = clock.wallMs() - (clock.monotonicMs() - this.#startedMs);
    return { state, pid, release, restarts, sinceMs };
  }

  /** Resolves when it is ready. Rejects with a sentence for the operator when it ends before; it is not restarted then. */
  async start(): Promise<Kind['ready']> {
    const { clock, name, launch, task } = this.#options;
    this.#starts += 1;
    this.#startedMs = clock.monotonicMs();
    const life = launch();
    this.#life = life;
    this.#changed();
    let facts: Kind['ready'];
    try {
      const given = task(life, this.#last, this.#failure);
      facts = await life.begin(given, (report) => this.#options.reported?.(report));
    } catch (error) {
      this.#life = null;
      this.#changed();
      throw new Error(`the ${name} does not start: ${messageOf(error)}`, { cause: error });
    }
    void life.ended.then(async (why) => this.#lost(life, why, await life.fork.ended));
    this.#serves(life, facts);
    return facts;
  }

  /** The process that is ready; null: none. */
  get life(): ChildLife<Kind, Fork> | null {
    return this.#life?.isUp === true ? this.#life : null;
  }

  /**
   * Replaces the process by `successor`, which has begun and is restarted from now on. The old process ends by itself.
   * `serving`: as returned by its `begin`.
   */
  succeed(successor: ChildLife<Kind, Fork>, serving: Promise<Kind['ready']>): void {
    this.#startedMs = this.#options.clock.monotonicMs();
    this.#life = successor;
    void successor.ended.then(async (why) => this.#lost(successor, why, await successor.fork.ended));
    this.#changed();
    serving.then(
      (facts) => this.#serves(successor, facts),
      () => undefined,
    );
  }

  /** Ignored while it is down. */
  order(order: Kind['order']): void {
    this.#life?.order(order);
  }

  /** Kills it, and it is restarted. `why`: a sentence for the log; null: the signal is reason enough. */
  kill(why: string | null): void {
    this.#life?.kill(why);
  }

  /** Ends it without a restart: `drain` if it is ready, then the order; killed after `msMax`. Resolves when it has ended. */
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
      overdue: () => log.warn({ ...fields, pid: life.pid }, `${name}: did not stop in time; killed`),
    });
  }

  /** Kills it without a restart. */
  close(): void {
    this.#startNoMore();
    this.#life?.kill();
  }

  #serves(life: ChildLife<Kind, Fork>, facts: Kind['ready']): void {
    const { clock, log, name, fields } = this.#options;
    this.#last = facts;
    this.#failure = null;
    const startMs = Math.round(clock.monotonicMs() - this.#startedMs);
    log.info({ ...fields, pid: life.pid, ...facts, start_ms: startMs }, `${name}: started`);
    this.#changed();
  }

  #startNoMore(): void {
    this.#isStopping = true;
    this.#restarts.stop();
  }

  #lost(life: ChildLife<Kind, Fork>, why: string, how: string): void {
    if (this.#life !== life) return;
    const { pid } = life;
    this.#life = null;
    this.#changed();
    const { clock, log, name, fields, died } = this.#options;
    if (!this.#isStopping) died?.(why);
    if (this.#isStopping) return;
    const livedMs = Math.round(clock.monotonicMs() - this.#startedMs);
    const waitMs = this.#restarts.died(livedMs >= soundLifeMs);
    const death = { ...fields, pid, why, how, lived_ms: livedMs, restart_ms: waitMs };
    log.error(death, `${name}: died; restarting`);
    this.#restarts.startAfter(
      waitMs,
      async () => void (await this.start()),
      (error, nextMs) => this.#notStarted(error, nextMs),
    );
  }

  /** A child that cannot start is retried every few seconds; each reason is logged once. */
  #notStarted(error: unknown, nextMs: number): void {
    const { log, name, fields } = this.#options;
    const failure = messageOf(error);
    if (failure !== this.#failure)
      log.error({ ...fields, err: error, restart_ms: nextMs }, `${name}: cannot start; will retry`);
    this.#failure = failure;
  }

  #changed(): void {
    this.#options.changed?.();
  }
}
