/**
 * One life of a child process: start, hello, task, ready, end. A child that says no hello in time, is not ready in time, or
 * shows no life for 5 s is killed. Source: scale-out.md, Edges.
 */
import {
  childBounds,
  childLanguage,
  childVersion,
  type ChildKind,
  type FromChild,
  type ToChild,
} from '../../lib/children/child-messages.ts';
import type { Clock } from '../../lib/clock.ts';
import { Link } from '../../lib/link/link.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import type { ChildFork } from './child-fork.ts';

export interface LifeOptions {
  readonly clock: Clock;
  /** Name of the kind of child in sentences: `media process`. */
  readonly name: string;
  /** From its start to its hello, and from its task to the time when it serves. */
  readonly startMsMax: number;
}

export class ChildLife<Kind extends ChildKind, Fork extends ChildFork = ChildFork> {
  readonly fork: Fork;
  /** Why it ended, in a few words; `fork.ended` has the signal or exit code. */
  readonly ended: Promise<string>;
  /** Resolves when it says hello. */
  readonly loaded: Promise<void>;
  readonly #options: LifeOptions;
  readonly #link: Link<ToChild<Kind>, FromChild<Kind>>;
  #loaded: () => void = () => undefined;
  #release: string | null = null;
  #stage: 'waiting' | 'starting' | 'up' = 'waiting';
  /** Counted, so that a supervisor that stood still kills no child. */
  #startingHeartbeats = 0;
  #isReady: (facts: Kind['ready']) => void = () => undefined;
  #reported: (report: Kind['report']) => void = () => undefined;
  /** The reason that it gave, or ours to kill it; null: there is none. */
  #why: string | null = null;

  constructor(fork: Fork, options: LifeOptions) {
    const { clock, name, startMsMax } = options;
    this.fork = fork;
    this.#options = options;
    this.loaded = new Promise((resolve) => (this.#loaded = resolve));
    this.ended = fork.ended.then((how) => this.#why ?? how);
    const isUp = (): boolean => this.#stage === 'up';
    this.#link = new Link(fork.channel, {
      clock,
      peer: `the ${name}`,
      progress: new LoopProgress(clock),
      bounds: {
        ...childBounds,
        helloMsMax: startMsMax,
        // A start may be one long turn: a store is opened.
        get silenceMsMax() {
          return isUp() ? childBounds.silenceMsMax : startMsMax;
        },
      },
      language: childLanguage<FromChild<Kind>>(),
      received: (message) => this.#received(message),
      heartbeat: () => this.#heartbeat(),
      // Without its stream it gets no order, and it may hang in native code. A death breaks the stream, too, and has its own words.
      ended: (fault, how) => this.kill(how === 'fault' ? fault : null),
    });
    this.#link.send({ kind: 'hello', version: childVersion });
    loading.add(this);
    void fork.ended.then(() => loading.delete(this));
  }

  get pid(): number | null {
    return this.fork.pid;
  }

  /** The version of its program; null: it has not said hello. */
  get release(): string | null {
    return this.#release;
  }

  get isUp(): boolean {
    return this.#stage === 'up';
  }

  /** Call it once. Resolves when the child serves; rejects when it has ended before, with the reason. */
  begin(task: Kind['task'], reported: (report: Kind['report']) => void): Promise<Kind['ready']> {
    this.#stage = 'starting';
    this.#reported = reported;
    this.#link.send({ kind: 'begin', task });
    return new Promise((resolve, reject) => {
      this.#isReady = resolve;
      void this.ended.then((why) => reject(new Error(why)));
    });
  }

  /** A child that is gone gets none. */
  order(order: Kind['order']): void {
    this.#link.send({ kind: 'order', order });
  }

  /** Orders it to end; a child that is not loaded is killed. */
  stop(): void {
    if (this.#release === null) this.kill();
    else this.#link.send({ kind: 'stop' });
  }

  /** `why`: a sentence, of which the first is kept; null: the signal says enough. */
  kill(why: string | null = null): void {
    this.#why ??= why;
    this.fork.kill();
  }

  #received(message: FromChild<Kind>): null {
    switch (message.kind) {
      case 'hello':
        this.#release = message.release;
        loading.delete(this);
        this.#loaded();
        break;
      case 'heartbeat':
        break;
      case 'ready':
        if (this.#stage !== 'starting') break;
        this.#stage = 'up';
        this.#isReady(message.facts);
        break;
      case 'failed':
        this.#why ??= message.reason;
        break;
      case 'report':
        this.#reported(message.report);
    }
    return null;
  }

  #heartbeat(): void {
    if (this.#stage !== 'starting') return;
    this.#startingHeartbeats += 1;
    const startingMs = this.#startingHeartbeats * childBounds.heartbeatMs;
    if (startingMs >= this.#options.startMsMax) this.kill(`it was not ready within ${startingMs} ms`);
  }
}

/** Children that have not said hello: they cannot see the end of this process, and are killed then. */
const loading = new Set<{ kill(): void }>();
process.on('exit', () => {
  for (const child of loading) child.kill();
});
