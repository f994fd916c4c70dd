/**
 * A fair queue of scans of the log. Reading it is synchronous, so it is done a slice per turn of the event loop: API calls
 * and sockets come in between, however long the log. Applications take turns, and within one the first reader is served
 * to its end: half a page in memory for each application, not for each reader.
 */
import { assert } from '../../lib/assert.ts';
import { BoundedQueue } from '../../lib/queues.ts';
import type { ApplicationId } from '../../model/ids.ts';
import { readersPerApplicationMax } from '../../model/limits.ts';

/** A walk that can be interrupted. */
export interface Steps {
  readonly isFinished: boolean;
  /** Looks at no more than `eventsMax` events and says at how many it did. */
  step(eventsMax: number): number;
}

interface Job {
  readonly steps: Steps;
  readonly finish: () => void;
  readonly fail: (error: unknown) => void;
}

/** Those of one application. */
interface Line {
  current: Job | undefined;
  readonly waiting: BoundedQueue<Job>;
}

/** About 2 ms at 3 µs to read an event that is not in memory. */
const eventsPerTurn = 500;
/** Fixed cost of a job beside its events, in events. */
const jobCost = 10;

export class FairEventQueue {
  readonly #lines = new Map<ApplicationId, Line>();
  #scheduled = false;

  /**
   * Resolves when the steps are finished; rejects with the error that one of them throws. As many at once as one
   * application has reader slots.
   */
  run(appId: ApplicationId, steps: Steps): Promise<void> {
    return new Promise((finish, fail) => {
      const taken = this.#lineOf(appId).waiting.push({ steps, finish, fail });
      assert(taken, 'there is room for every reader that has a slot');
      this.#schedule();
    });
  }

  #lineOf(appId: ApplicationId): Line {
    let line = this.#lines.get(appId);
    if (line === undefined) {
      line = { current: undefined, waiting: new BoundedQueue(readersPerApplicationMax) };
      this.#lines.set(appId, line);
    }
    return line;
  }

  #schedule(): void {
    if (this.#scheduled || this.#lines.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#turn();
      this.#schedule();
    });
  }

  /** One after the other, each application once before any twice, until the turn's events are used up. */
  #turn(): void {
    let left = eventsPerTurn;
    for (const [appId, line] of this.#lines) {
      if (left <= 0) return;
      left -= jobCost + advance(line, left);
      this.#lines.delete(appId);
      if (line.current !== undefined || line.waiting.length > 0) this.#lines.set(appId, line);
    }
  }
}

/** At how many events the line's first job looked. */
function advance(line: Line, eventsMax: number): number {
  line.current ??= line.waiting.shift();
  const job = line.current;
  assert(job !== undefined, 'a line is there while somebody stands in it');
  let lookedAt = 0;
  try {
    if (!job.steps.isFinished) lookedAt = job.steps.step(eventsMax);
    if (!job.steps.isFinished) return lookedAt;
    job.finish();
  } catch (error) {
    job.fail(error);
  }
  line.current = undefined;
  return lookedAt;
}
