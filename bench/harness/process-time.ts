/** CPU time of a process without a probe, as the kernel counts it. */
import { readdirSync, readFileSync } from 'node:fs';

const nanosecondsPerSecond = 1e9;

/** All threads that the process has now, in seconds. */
export function cpuSecondsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + threadSecondsOf(pid, thread), 0);
}

export function threadSecondsOf(pid: number, thread: number | string): number {
  const [onProcessor] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ');
  return Number(onProcessor) / nanosecondsPerSecond;
}

/** The eldest child whose command has this word in it. */
export function childOf(pid: number, word: string): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').map(Number);
  const found = children.find((child) => readFileSync(`/proc/${child}/cmdline`, 'latin1').includes(word));
  if (found === undefined) throw new Error(`process ${pid} has no child ${word}`);
  return found;
}
