/**
 * A fair queue of synchronous work that may be long: it is done a slice per turn of the event loop, so that calls and
 * sockets come in between. Those who queue take turns, and within one line the first job is done to its end: half a result
 * in memory for each line, not for each job.
 */
import { assert } from './assert.ts';
import { BoundedQueue } from './queues.ts';

/** Work that can be interrupted. */
export interface Steps {
  readonly isFinished: boolean;
  /** Does no more than `unitsMax` units and says how many it did. */
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
  /** What one turn of the loop may do, all lines together. */
  readonly unitsPerTurn: number;
  /** Fixed cost of a job beside its own, in units. */
  readonly jobCost: number;
  /** Jobs of one line. */
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
   * Resolves when the steps are finished; rejects with the error that one of them throws. The caller sees to it that a line
   * has no more than `jobsMax` at once.
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

  /** One after the other, each line once before any twice, until the turn's units are used up. */
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

/** The units that the line's first job did. */
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
