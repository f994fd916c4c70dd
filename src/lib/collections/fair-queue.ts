/**
 * A fair queue for long synchronous work, done in slices, one per turn of the event loop, so that calls and sockets are served
 * in between. Lines take turns. Within a line the first job runs to its end, so that memory holds one partial result per line,
 * not per job.
 */
import { assert } from '../assert.ts';
import { BoundedQueue } from './queues.ts';

export interface Steps {
  readonly isFinished: boolean;
  /** Does at most `unitsMax` units of work and returns the number done. */
  step(unitsMax: number): number;
}

interface Job {
  readonly steps: Steps;
  readonly finish: () => void;
  readonly fail: (error: unknown) => void;
}

interface Line {
  current: Job | undefined;
  readonly waiting: BoundedQueue<Job>;
}

export interface FairQueueShape {
  readonly unitsPerTurn: number;
  /** Fixed overhead of a job, in units. */
  readonly jobCost: number;
  readonly jobsMax: number;
}

export class FairQueue {
  readonly #shape: FairQueueShape;
  readonly #lines = new Map<string, Line>();
  #scheduled = false;

  constructor(shape: FairQueueShape) {
    this.#shape = shape;
  }

  /**
   * Resolves when the steps are finished; rejects with the error that a step throws. The caller ensures that a line has at most
   * `jobsMax` jobs.
   */
  run(lineId: string, steps: Steps): Promise<void> {
    return new Promise((finish, fail) => {
      const taken = this.#lineOf(lineId).waiting.push({ steps, finish, fail });
      assert(taken, 'there is room for every job that has a slot');
      this.#schedule();
    });
  }

  #lineOf(lineId: string): Line {
    let line = this.#lines.get(lineId);
    if (line === undefined) {
      line = { current: undefined, waiting: new BoundedQueue(this.#shape.jobsMax) };
      this.#lines.set(lineId, line);
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

  /** Serves each line once before any line twice, until the turn's units are spent. */
  #turn(): void {
    const { unitsPerTurn, jobCost } = this.#shape;
    let left = unitsPerTurn;
    for (const [lineId, line] of this.#lines) {
      if (left <= 0) return;
      left -= jobCost + advance(line, left);
      this.#lines.delete(lineId);
      if (line.current !== undefined || line.waiting.length > 0) this.#lines.set(lineId, line);
    }
  }
}

function advance(line: Line, unitsMax: number): number {
  line.current ??= line.waiting.shift();
  const job = line.current;
  assert(job !== undefined, 'a line is there while somebody stands in it');
  let done = 0;
  try {
    if (!job.steps.isFinished) done = job.steps.step(unitsMax);
    if (!job.steps.isFinished) return done;
    job.finish();
  } catch (error) {
    job.fail(error);
  }
  line.current = undefined;
  return done;
}
