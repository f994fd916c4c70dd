/**
 * One life of a child process: from its start, which loads its code, by its hello and its task to the time when it serves, and to its
 * end. One that says no hello in time, or shows no life for a while, is killed. Source: scale-out.md, Edges.
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
import type { Child } from './spare.ts';

export interface LifeOptions {
  readonly clock: Clock;
  /** Of the kind of child, in sentences: `media process`. */
  readonly name: string;
  /** Until it says hello, and again from its task until it serves. */
  readonly startMsMax: number;
}

export class ChildLife<Kind extends ChildKind, Fork extends ChildFork = ChildFork> implements Child {
  readonly fork: Fork;
  /** Why it ended, in a few words; `fork.ended` has how. */
  readonly ended: Promise<string>;
  /** Resolves when it says hello. */
  readonly loaded: Promise<void>;
  readonly #options: LifeOptions;
  readonly #link: Link<ToChild<Kind>, FromChild<Kind>>;
  #loaded: () => void = () => undefined;
  #release: string | null = null;
  #stage: 'waiting' | 'starting' | 'up' = 'waiting';
  /** By its own time: that stands still when this process does. */
  #startingHeartbeats = 0;
  #isReady: (facts: Kind['ready']) => void = () => undefined;
  #reported: (report: Kind['report']) => void = () => undefined;
  /** Its own reason why it ends, or ours to end it. */
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
        // One that starts may be busy for long: it opens a store.
        get silenceMsMax() {
          return isUp() ? childBounds.silenceMsMax : startMsMax;
        },
      },
      language: childLanguage<FromChild<Kind>>(),
      received: (message) => this.#received(message),
      heartbeat: () => this.#heartbeat(),
      // Without its stream it can be given no order; it may hang in native code. One that dies breaks it.
      ended: (fault, how) => this.kill(how === 'fault' ? fault : null),
    });
    this.#link.send({ kind: 'hello', version: childVersion });
    loading.add(this);
    void fork.ended.then(() => loading.delete(this));
  }

  get pid(): number | null {
    return this.fork.pid;
  }

  /** Of its program; null: it has not said hello. */
  get release(): string | null {
    return this.#release;
  }

  get isUp(): boolean {
    return this.#stage === 'up';
  }

  /** Once. Resolves when it serves; rejects, with why, when it has ended before. */
  begin(task: Kind['task'], reported: (report: Kind['report']) => void): Promise<Kind['ready']> {
    this.#stage = 'starting';
    this.#reported = reported;
    this.#link.send({ kind: 'begin', task });
    return new Promise((resolve, reject) => {
      this.#isReady = resolve;
      void this.ended.then((why) => reject(new Error(why)));
    });
  }

  /** Nothing happens when it is gone. */
  order(order: Kind['order']): void {
    this.#link.send({ kind: 'order', order });
  }

  /** One that is not loaded follows no order, and is killed. */
  stop(): void {
    if (this.#release === null) this.kill();
    else this.#link.send({ kind: 'stop' });
  }

  /** `why`: a sentence, of which the first is kept; null: how it ended says enough. */
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

/** At the end of this process they are killed: those that are loaded see it by themselves, and end in order. */
const loading = new Set<Child>();
process.on('exit', () => {
  for (const child of loading) child.kill();
});
