/** The threads of a server that is one process: the core's is its main one, a front's is one that queries keep busy. */
import { readdirSync } from 'node:fs';
import { threadSecondsOf } from '../../test/support/process-samples.ts';
import type { Child } from './child.ts';

/** CPU seconds since the measurement began. */
export interface ThreadsSpent {
  readonly all: number;
  readonly core: number;
  /** The sum of all fronts. */
  readonly fronts: number;
}

type SecondsByThread = ReadonlyMap<number, number>;

export class ServerThreads {
  readonly #pid: number;
  /** Node.js 20 names no threads, so the fronts' are found by what they spend. */
  #fronts: readonly number[] = [];

  constructor({ process: { pid } }: Child) {
    if (pid === undefined) throw new Error('the server has no process');
    this.#pid = pid;
  }

  /** `load`: keeps every front busier than any other thread beside the core's. */
  async findFronts<Result>(count: number, load: () => Promise<Result>): Promise<Result> {
    const before = this.#read();
    const result = await load();
    const spent = [...differences(before, this.#read())].filter(([thread]) => thread !== this.#pid);
    spent.sort(([, one], [, other]) => other - one);
    this.#fronts = spent.slice(0, count).map(([thread]) => thread);
    return result;
  }

  /** Begins a measurement; the function returned reads it. */
  measure(): () => ThreadsSpent {
    const before = this.#read();
    return () => {
      const spent = differences(before, this.#read());
      const sum = (seconds: Iterable<number>): number => [...seconds].reduce((all, one) => all + one, 0);
      return {
        all: sum(spent.values()),
        core: spent.get(this.#pid) ?? 0,
        fronts: sum(this.#fronts.map((thread) => spent.get(thread) ?? 0)),
      };
    };
  }

  #read(): SecondsByThread {
    const threads = readdirSync(`/proc/${this.#pid}/task`).map(Number);
    return new Map(threads.map((thread) => [thread, threadSecondsOf(this.#pid, thread)]));
  }
}

function differences(before: SecondsByThread, after: SecondsByThread): SecondsByThread {
  return new Map([...after].map(([thread, seconds]) => [thread, seconds - (before.get(thread) ?? 0)]));
}
