/** The memory of every process that is attacked: memory that is alive after a collection stays as it is. */
import { writeFileSync } from 'node:fs';
import { OpsClient } from '../../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../../src/gateways/ops/ops-token.ts';
import type { SiteJson } from '../../../src/server/site/site-route.ts';
import { anonymousBytesOf } from '../../support/process-samples.ts';
import { mediaChild, type ServerProcess } from '../../support/server-process.ts';
import { preloadOf } from '../server/preload.ts';
import { nowSeconds, readSamples, type ProcessSample } from '../server/samples.ts';

/** In the whole time, of each process. */
const samplesWanted = 16;
/** The share of the time in which memory may grow: buffers, code, and answers that are remembered for 300 s. */
const settlingShare = 0.55;
/** In each half of the time that is judged. */
const samplesMin = 3;
/** Several times as much as a short soak has shown, which ends before as many answers are remembered as will be. */
const aliveGrownMiBMax = 8;
/**
 * A stop against native memory, which no collection counts. V8 and malloc take more, thread by thread, for as long as they size
 * themselves for the storm.
 */
const anonymousGrownMiBMax = 256;

export class Memory {
  /** Modules that every process of the server loads first. */
  readonly imports: readonly string[];
  readonly #file: string;
  readonly #names = new Map<number, string>();
  #beganAt = Infinity;

  /** `file`: of the samples. */
  constructor(file: string, seconds: number) {
    writeFileSync(file, '');
    this.#file = file;
    const sampleSeconds = seconds / samplesWanted;
    this.imports = [preloadOf({ file, sampleSeconds, samplesPerCollection: 1, leaks: [] })];
  }

  /** `directory`: of the server's data. */
  async watch(server: ServerProcess, directory: string): Promise<void> {
    const ops = new OpsClient(`http://127.0.0.1:${server.ports.ops}`, findOpsToken(directory) ?? '');
    const { processes } = await ops.ask<SiteJson>('/v1/site');
    for (const { name, pid } of processes) if (pid !== null) this.#names.set(pid, name);
    this.#names.set((await mediaChild(server)).pid, 'media');
  }

  begin(): void {
    this.#beganAt = nowSeconds();
  }

  /** Memory from the kernel, now. */
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

/** MiB, from the least of one half to the least of the other: requests under way come and go. Null: of too few samples. */
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

/** Sentences; none: memory is flat. */
export function judgeGrowth(growth: Growth | null): readonly string[] {
  if (growth === null) return ['too few samples of its memory'];
  const { alive, anonymous } = growth;
  return [
    ...(alive > aliveGrownMiBMax ? [`memory alive grew by ${alive} MiB`] : []),
    ...(anonymous > anonymousGrownMiBMax ? [`memory from the kernel grew by ${anonymous} MiB`] : []),
  ];
}
