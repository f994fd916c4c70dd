/** What a process that carries no probe has spent, from what the kernel keeps. */
import { readdirSync, readFileSync } from 'node:fs';

const nanosecondsPerSecond = 1e9;

/** On processors, in seconds, all threads that it has now. */
export function cpuSecondsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const spent = threads.map((thread) => {
    const [onProcessor] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ');
    return Number(onProcessor) / nanosecondsPerSecond;
  });
  return spent.reduce((sum, seconds) => sum + seconds, 0);
}

/** Microseconds for each of so many. */
export function microsEach(seconds: number, count: number): number {
  return (seconds / count) * 1e6;
}

/** The eldest child whose command has this word in it. */
export function childOf(pid: number, word: string): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').map(Number);
  const found = children.find((child) => readFileSync(`/proc/${child}/cmdline`, 'latin1').includes(word));
  if (found === undefined) throw new Error(`process ${pid} has no child ${word}`);
  return found;
}
