/**
 * Preloaded into every process of a soaked server: appends the resources of the process to the sample file, and leaks a little
 * as a canary. File, interval and leaks are parameters of its import URL, which preload.ts builds.
 */
import { openSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { anonymousBytesOf, descriptorsOf } from '../../support/process-samples.ts';
import type { LeakKind } from './plan.ts';
import { appendSample, nowSeconds } from './samples.ts';

const mebibyte = 1024 * 1024;
const leakedBytes = 64 * 1024;
const leakEveryMs = 250;
const longMs = 3_600_000;

const parameters = new URL(import.meta.url).searchParams;
const numberOf = (name: string): number => Number(parameters.get(name));
startSampling(parameters.get('file') ?? '', numberOf('sampleSeconds'), numberOf('samplesPerCollection'));
for (const kind of parameters.getAll('leak')) startLeaking(kind as LeakKind);

function startSampling(file: string, sampleSeconds: number, samplesPerCollection: number): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let taken = 0;
  setInterval(() => {
    const isCollected = taken % samplesPerCollection === samplesPerCollection - 1;
    if (isCollected) collect();
    taken += 1;
    const { heapUsed, external } = process.memoryUsage();
    appendSample(file, {
      kind: 'process',
      at: nowSeconds(),
      pid: process.pid,
      isCollected,
      rssAnonMiB: anonymousBytesOf(process.pid) / mebibyte,
      liveMiB: (heapUsed + external) / mebibyte,
      descriptors: descriptorsOf(process.pid),
      timers: process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length,
    });
  }, sampleSeconds * 1000).unref();
}

/** Each step is far below the usual variation of a server. */
function startLeaking(kind: LeakKind): void {
  const lost: unknown[] = [];
  const leaks: Record<LeakKind, () => void> = {
    memory: () => void lost.push(Buffer.alloc(leakedBytes, 1)),
    descriptor: () => void lost.push(openSync('/dev/null', 'r')),
    timer: () => void setInterval(() => undefined, longMs),
  };
  setInterval(leaks[kind], leakEveryMs).unref();
}
