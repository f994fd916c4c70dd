/** Memory of every attacked process: live memory after a garbage collection must not grow. */
import { writeFileSync } from 'node:fs';
import { OpsClient } from '../../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../../src/gateways/ops/ops-token.ts';
import type { SiteJson } from '../../../src/server/site/site-route.ts';
import { anonymousBytesOf } from '../../support/process-samples.ts';
import { mediaChild, type ServerProcess } from '../../support/server-process.ts';
import { preloadOf } from '../server/preload.ts';
import { nowSeconds, readSamples, type ProcessSample } from '../server/samples.ts';

const samplesWanted = 16;
/** Share of the run in which memory may grow: buffers, code, and responses that are remembered for 300 s. */
const settlingShare = 0.55;
/** Minimum samples in each half of the checked time. */
const samplesMin = 3;
/** Several times the growth of a short soak, which ends before the memory of responses is full. */
const aliveGrownMiBMax = 8;
/**
 * Limit of anonymous memory, to catch native leaks that live memory does not include. V8 and malloc grow thread by thread while
 * they adapt to the storm.
 */
const anonymousGrownMiBMax = 256;

export class Memory {
  readonly imports: readonly string[];
  readonly #file: string;
  readonly #names = new Map<number, string>();
  #beganAt = Infinity;

  constructor(file: string, seconds: number) {
    writeFileSync(file, '');
    this.#file = file;
    const sampleSeconds = seconds / samplesWanted;
    this.imports = [preloadOf({ file, sampleSeconds, samplesPerCollection: 1, leaks: [] })];
  }

  async watch(server: ServerProcess, directory: string): Promise<void> {
    const ops = new OpsClient(`http://127.0.0.1:${server.ports.ops}`, findOpsToken(directory) ?? '');
    const { processes } = await ops.ask<SiteJson>('/v1/site');
    for (const { name, pid } of processes) if (pid !== null) this.#names.set(pid, name);
    this.#names.set((await mediaChild(server)).pid, 'media');
  }

  begin(): void {
    this.#beganAt = nowSeconds();
  }

  figures(): object {
    const mebibytes = (pid: number): number => Math.round(anonymousBytesOf(pid) / 1024 ** 2);
    return {
      anonymousMiB: Object.fromEntries(Array.from(this.#names, ([pid, name]) => [name, mebibytes(pid)])),
    };
  }

  judge(): readonly string[] {
    const samples = readSamples(this.#file)
      .filter((sample) => sample.kind === 'process')
      .filter(({ at }) => at >= this.#beganAt);
    return Array.from(this.#names, ([pid, name]) => {
      const growth = growthOf(samples.filter((sample) => sample.pid === pid));
      console.log(JSON.stringify({ name, grownMiB: growth }));
      return judgeGrowth(growth).map((sentence) => `${name}: ${sentence}`);
    }).flat();
  }
}

export interface Growth {
  readonly alive: number;
  readonly anonymous: number;
}

/** Growth in MiB between the minima of the two halves, which exclude pending requests. Null: too few samples. */
export function growthOf(samples: readonly ProcessSample[]): Growth | null {
  const settled = samples.slice(Math.ceil(samples.length * settlingShare));
  const half = Math.floor(settled.length / 2);
  if (half < samplesMin) return null;
  const leastOf = (some: readonly ProcessSample[], metric: 'liveMiB' | 'rssAnonMiB'): number =>
    Math.min(...some.map((sample) => sample[metric]));
  const grown = (metric: 'liveMiB' | 'rssAnonMiB'): number =>
    Number((leastOf(settled.slice(half), metric) - leastOf(settled.slice(0, half), metric)).toFixed(1));
  return { alive: grown('liveMiB'), anonymous: grown('rssAnonMiB') };
}

export function judgeGrowth(growth: Growth | null): readonly string[] {
  if (growth === null) return ['too few samples of its memory'];
  const { alive, anonymous } = growth;
  return [
    ...(alive > aliveGrownMiBMax ? [`memory alive grew by ${alive} MiB`] : []),
    ...(anonymous > anonymousGrownMiBMax ? [`memory from the kernel grew by ${anonymous} MiB`] : []),
  ];
}
