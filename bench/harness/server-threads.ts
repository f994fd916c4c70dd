/** CPU of the threads of a single-process server: the main thread is the core's; fronts are identified by their load. */
import { readdirSync } from 'node:fs';
import { threadSecondsOf } from '../../test/support/process-samples.ts';
import type { Child } from './child.ts';

export interface ThreadsSpent {
  readonly all: number;
  readonly core: number;
  readonly fronts: number;
}

type SecondsByThread = ReadonlyMap<number, number>;

export class ServerThreads {
  readonly #pid: number;
  /** Thread ids of the fronts, found by CPU use because Node.js 20 does not name threads. */
  #fronts: readonly number[] = [];

  constructor({ process: { pid } }: Child) {
    if (pid === undefined) throw new Error('the server has no process');
    this.#pid = pid;
  }

  /** `load`: keeps every front busier than any thread except the core's. */
  async findFronts<Result>(count: number, load: () => Promise<Result>): Promise<Result> {
    const before = this.#read();
    const result = await load();
    const spent = [...differences(before, this.#read())].filter(([thread]) => thread !== this.#pid);
    spent.sort(([, one], [, other]) => other - one);
    this.#fronts = spent.slice(0, count).map(([thread]) => thread);
    return result;
  }

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
