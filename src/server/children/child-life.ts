/**
 * One run of a child process: start, hello, task, ready, end. A child without a hello or `ready` in time, or without a heartbeat for 5 s,
 * is killed. Source: scale-out.md, Edges.
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
import { deferred } from '../../lib/deferred.ts';
import { Link } from '../../lib/link/link.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import type { ChildFork } from './child-fork.ts';

export interface LifeOptions {
  readonly clock: Clock;
  /** Kind of child, for sentences: `media process`. */
  readonly name: string;
  /** Limit for start to hello, and for task to ready, each. */
  readonly startMsMax: number;
}

export class ChildLife<Kind extends ChildKind, Fork extends ChildFork = ChildFork> {
  readonly fork: Fork;
  /** Reason of its end, in a few words; `fork.ended` has the signal or exit code. */
  readonly ended: Promise<string>;
  readonly #options: LifeOptions;
  readonly #link: Link<ToChild<Kind>, FromChild<Kind>>;
  readonly #loaded = deferred();
  #release: string | null = null;
  #stage: 'waiting' | 'starting' | 'up' = 'waiting';
  /** Heartbeats are counted, so that a supervisor that was suspended kills no child. */
  #startingHeartbeats = 0;
  #isReady: (facts: Kind['ready']) => void = () => undefined;
  #reported: (report: Kind['report']) => void = () => undefined;
  /** Reason reported by the child, or reason of the kill; null: none. */
  #why: string | null = null;

  constructor(fork: Fork, options: LifeOptions) {
    const { clock, name, startMsMax } = options;
    this.fork = fork;
    this.#options = options;
    this.ended = fork.ended.then((how) => this.#why ?? how);
    const isUp = (): boolean => this.#stage === 'up';
    this.#link = new Link(fork.channel, {
      clock,
      peer: `the ${name}`,
      progress: new LoopProgress(clock),
      bounds: {
        ...childBounds,
        helloMsMax: startMsMax,
        // A start may block the loop for long, for example to open a store.
        get silenceMsMax() {
          return isUp() ? childBounds.silenceMsMax : startMsMax;
        },
      },
      language: childLanguage<FromChild<Kind>>(),
      received: (message) => this.#received(message),
      heartbeat: () => this.#heartbeat(),
      // Without its stream a child receives no orders, and may hang in native code. If it died, `fork.ended` has the reason.
      ended: (fault, how) => this.kill(how === 'fault' ? fault : null),
    });
    this.#link.send({ kind: 'hello', version: childVersion });
    loading.add(this);
    void fork.ended.then(() => loading.delete(this));
  }

  /** Resolves at its hello. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  get pid(): number | null {
    return this.fork.pid;
  }

  /** Version of its program; null: no hello yet. */
  get release(): string | null {
    return this.#release;
  }

  get isUp(): boolean {
    return this.#stage === 'up';
  }

  /** Call once. Resolves when the child is ready; rejects with the reason when it ends before. */
  begin(task: Kind['task'], reported: (report: Kind['report']) => void): Promise<Kind['ready']> {
    this.#stage = 'starting';
    this.#reported = reported;
    this.#link.send({ kind: 'begin', task });
    return new Promise((resolve, reject) => {
      this.#isReady = resolve;
      void this.ended.then((why) => reject(new Error(why)));
    });
  }

  /** Ignored after the child has ended. */
  order(order: Kind['order']): void {
    this.#link.send({ kind: 'order', order });
  }

  /** Orders it to end; kills a child that is not loaded. */
  stop(): void {
    if (this.#release === null) this.kill();
    else this.#link.send({ kind: 'stop' });
  }

  /** `why`: a sentence, of which the first is kept; null: the signal is reason enough. */
  kill(why: string | null = null): void {
    this.#why ??= why;
    this.fork.kill();
  }

  #received(message: FromChild<Kind>): null {
    switch (message.kind) {
      case 'hello':
        this.#release = message.release;
        loading.delete(this);
        this.#loaded.resolve();
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

/** Children before their hello: they would not notice the end of this process, so they are killed with it. */
const loading = new Set<{ kill(): void }>();
process.on('exit', () => {
  for (const child of loading) child.kill();
});
