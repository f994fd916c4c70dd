/**
 * Time of a whole simulated site: one queue of everything that is to happen, in the order of its instants. Processes
 * are hosts: one that is paused does later what fell due, one that is dead does nothing any more. Between two steps
 * everything that needs no time is done: promises, and turns of the event loop.
 */
import type { Cancel, Clock } from '../../src/lib/clock.ts';
import { settled } from './seeded-process.ts';

/** A process, as far as time is concerned. */
export class Host {
  readonly name: string;
  isDead = false;
  /** Null: it lives, or has stopped in order. */
  diedMs: number | null = null;
  /** When it was killed, or told to stop; null: neither. */
  endedMs: number | null = null;
  /** What falls due before is done then. */
  pausedUntilMs = 0;

  constructor(name: string) {
    this.name = name;
  }
}

interface Step {
  dueMs: number;
  readonly order: number;
  /** Null: of the world outside. */
  readonly host: Host | null;
  run: (() => void) | null;
}

/** Real milliseconds that one step may take, its turns of the loop included. */
export class Timeline {
  #steps: Step[] = [];
  #nowMs = 0;
  #made = 0;
  /** Steps that were taken. */
  taken = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Steps that are to come, those of the dead left out. */
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

  /** Resolves when all that falls due within `ms` is done. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settled();
    for (;;) {
      const next = this.#steps[0];
      if (next === undefined || next.dueMs > endMs) break;
      this.#pop();
      if (!this.#take(next)) continue;
      await settled();
    }
    this.#nowMs = endMs;
  }

  /** False: nothing was done. */
  #take(step: Step): boolean {
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
  /** What it shows at the run's first instant, by its present setting. */
  startMs: number;
}

/** The clock of one process: its timers are late while it is paused. */
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

  /** Where the timers that are left were armed. */
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

/** Whether timers remember where they were armed, for who looks for one that is left. */
const tracesTimers = process.env['TRACE_TIMERS'] === '1';

function whereFrom(): string {
  if (!tracesTimers) return '';
  return (new Error('armed').stack ?? '').split('\n').slice(3, 7).join(' ');
}
