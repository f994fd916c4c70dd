/** All processes of a server: core, edges and supervisor. Without edges the server is its own core. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { coreFlag } from '../../src/cli/serve/serve-flags.ts';
import { childrenOf, cpuSecondsOf, pssBytesOf } from '../../test/support/process-samples.ts';
import type { Child } from './child.ts';

export interface SiteSpent {
  readonly cpuSeconds: number;
  readonly coreCpuSeconds: number;
}

const settleMs = 500;

export class SiteProcesses {
  readonly core: number;
  readonly #pids: readonly number[];

  constructor({ process: { pid } }: Child) {
    if (pid === undefined) throw new Error('the server has no process');
    const children = childrenOf(pid);
    this.#pids = [pid, ...children];
    this.core = children.find((child) => commandOf(child).includes(coreFlag)) ?? pid;
  }

  measure(): () => SiteSpent {
    const before = this.#cpuSeconds();
    return () => {
      const after = this.#cpuSeconds();
      return { cpuSeconds: after.all - before.all, coreCpuSeconds: after.core - before.core };
    };
  }

  /** Total proportional set size of all processes, after two forced garbage collections in each. */
  async pssBytes(): Promise<number> {
    for (let collection = 0; collection < 2; collection += 1) {
      // Forces a garbage collection: see probe.ts.
      for (const pid of this.#pids) process.kill(pid, 'SIGUSR1');
      await sleep(settleMs);
    }
    return this.#pids.reduce((sum, pid) => sum + pssBytesOf(pid), 0);
  }

  #cpuSeconds(): { readonly all: number; readonly core: number } {
    const all = this.#pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
    return { all, core: cpuSecondsOf(this.core) };
  }
}

function commandOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
}
