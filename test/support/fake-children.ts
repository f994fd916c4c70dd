/** Fake child processes that a test starts, speaks for and kills: their streams are real, the clock is the test's. */
import type { ChildKind } from '../../src/lib/children/child-messages.ts';
import { ParentEnd } from '../../src/lib/children/parent-end.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import type { ChildFork } from '../../src/server/children/child-fork.ts';
import { DuplexPair } from './duplex-pair.ts';

export class FakeChild<Kind extends ChildKind> implements ChildFork {
  readonly pid: number;
  readonly ended: Promise<string>;
  readonly channel: ChildFork['channel'];
  readonly progress: LoopProgress;
  /** Orders received, and `killed`. */
  readonly asked: unknown[] = [];
  isHung = false;
  /** True: it does not exit by itself. */
  isStuck = false;
  /** Error with which its supervisor closed the stream; null: none. */
  refusal: string | null = null;
  task: Kind['task'] | null = null;
  readonly pair = new DuplexPair();
  readonly #clock: Clock;
  #parent: ParentEnd<Kind> | null = null;
  #isGone = false;
  #resolve: (how: string) => void = () => undefined;

  constructor(clock: Clock, pid: number) {
    this.#clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      after: (delayMs, run) => clock.after(delayMs, run),
      every: (intervalMs, run) =>
        clock.every(intervalMs, () => {
          if (!this.isHung) run();
        }),
    };
    this.pid = pid;
    this.progress = new LoopProgress(clock);
    this.channel = this.pair.here;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Its code is loaded: it sends hello. */
  load(release = '1.2.3'): this {
    const parent = new ParentEnd<Kind>(this.pair.there, {
      clock: this.#clock,
      release,
      progress: this.progress,
      ordered: (order) => this.asked.push(order),
      stop: () => {
        this.asked.push('stop');
        if (!this.isStuck) this.die('exit code 0');
      },
      orphaned: (fault) => {
        if (this.#isGone) return;
        this.refusal = fault;
        if (!this.isStuck) this.die('exit code 0');
      },
    });
    this.#parent = parent;
    void parent.begun.then((task) => (this.task = task));
    return this;
  }

  get parent(): ParentEnd<Kind> {
    if (this.#parent === null) throw new Error('it is not loaded');
    return this.#parent;
  }

  fail(sentence: string): void {
    void this.parent.failed(sentence);
  }

  die(how: string): void {
    this.#isGone = true;
    this.#resolve(how);
    this.pair.there.destroy();
  }

  kill(): void {
    if (this.#isGone) return;
    this.asked.push('killed');
    this.die('SIGKILL');
  }
}
