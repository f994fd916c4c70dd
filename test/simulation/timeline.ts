/**
 * Simulated time of a whole site: one queue of steps in order of time. Processes are hosts: the steps of a paused host are
 * deferred, those of a dead one dropped. Between two steps all work that needs no time completes: promises, and turns of the
 * event loop.
 */
import type { Cancel, Clock } from '../../src/lib/clock.ts';
import { untilIdle } from './seeded-process.ts';

export class Host {
  readonly name: string;
  isDead = false;
  /** Null: alive, or stopped in order. */
  diedMs: number | null = null;
  /** Time of a kill or of the start of a stop; null: neither. */
  endedMs: number | null = null;
  /** Earlier steps are deferred to this time. */
  pausedUntilMs = 0;

  constructor(name: string) {
    this.name = name;
  }
}

interface Step {
  dueMs: number;
  readonly order: number;
  /** Null: a step outside all processes. */
  readonly host: Host | null;
  run: (() => void) | null;
}

export class Timeline {
  #steps: Step[] = [];
  #nowMs = 0;
  #made = 0;
  taken = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  get pending(): number {
    return this.#steps.filter(({ run, host }) => run !== null && host?.isDead !== true).length;
  }

  after(delayMs: number, host: Host | null, run: () => void): Cancel {
    const step: Step = { dueMs: this.#nowMs + Math.max(0, delayMs), order: (this.#made += 1), host, run };
    this.#push(step);
    return () => {
      step.run = null;
    };
  }

  /** Executes all steps of the next `ms`. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await untilIdle();
    for (;;) {
      const next = this.#steps[0];
      if (next === undefined || next.dueMs > endMs) break;
      this.#pop();
      if (!this.#runStep(next)) continue;
      await untilIdle();
    }
    this.#nowMs = endMs;
  }

  /** False: the step was dropped or deferred. */
  #runStep(step: Step): boolean {
    const { host, run } = step;
    if (run === null || host?.isDead === true) return false;
    if (host !== null && host.pausedUntilMs > step.dueMs) {
      step.dueMs = host.pausedUntilMs;
      this.#push(step);
      return false;
    }
    this.#nowMs = Math.max(this.#nowMs, step.dueMs);
    this.taken += 1;
    run();
    return true;
  }

  #push(step: Step): void {
    const steps = this.#steps;
    let at = steps.push(step) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (isBefore(steps[above], step)) break;
      steps[at] = steps[above] as Step;
      at = above;
    }
    steps[at] = step;
  }

  #pop(): void {
    const steps = this.#steps;
    const last = steps.pop();
    if (last === undefined || steps.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= steps.length) break;
      const right = left + 1;
      const least = right < steps.length && isBefore(steps[right], steps[left] as Step) ? right : left;
      if (!isBefore(steps[least], last)) break;
      steps[at] = steps[least] as Step;
      at = least;
    }
    steps[at] = last;
  }
}

function isBefore(one: Step | undefined, other: Step): boolean {
  return (
    one !== undefined && (one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order))
  );
}

/** The wall clock of a machine, which may be set while processes run. */
export interface WallClock {
  /** Wall time of the run's first instant, by the current setting. */
  startMs: number;
}

/** The clock of one process; a pause delays its timers. */
export class HostClock implements Clock {
  readonly #timeline: Timeline;
  readonly #host: Host;
  readonly #wall: WallClock;
  readonly #timers = new Set<{ readonly where: string }>();

  constructor(timeline: Timeline, host: Host, wall: WallClock) {
    this.#timeline = timeline;
    this.#host = host;
    this.#wall = wall;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  where(): string {
    return Array.from(this.#timers, ({ where }) => where).join('; ');
  }

  monotonicMs(): number {
    return this.#timeline.nowMs;
  }

  wallMs(): number {
    return Math.floor(this.#timeline.nowMs) + this.#wall.startMs;
  }

  after(delayMs: number, run: () => void): Cancel {
    const timer = { where: whereFrom() };
    this.#timers.add(timer);
    const cancel = this.#timeline.after(delayMs, this.#host, () => {
      if (this.#timers.delete(timer)) run();
    });
    return () => {
      this.#timers.delete(timer);
      cancel();
    };
  }

  every(intervalMs: number, run: () => void): Cancel {
    const timer = { where: whereFrom() };
    this.#timers.add(timer);
    let cancel: Cancel = () => undefined;
    const arm = (): void => {
      cancel = this.#timeline.after(intervalMs, this.#host, () => {
        arm();
        run();
      });
    };
    arm();
    return () => {
      this.#timers.delete(timer);
      cancel();
    };
  }
}

/** Keeps stack traces of timers, to find one that was not cancelled. */
const tracesTimers = process.env['TRACE_TIMERS'] === '1';

function whereFrom(): string {
  if (!tracesTimers) return '';
  return (new Error('armed').stack ?? '').split('\n').slice(3, 7).join(' ');
}
