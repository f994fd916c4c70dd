/** CPU time, memory, descriptors and children of a process, from the kernel. */
import { readdirSync, readFileSync } from 'node:fs';

const nanosecondsPerSecond = 1e9;

/** CPU time of all current threads, seconds. */
export function cpuSecondsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + threadSecondsOf(pid, thread), 0);
}

export function threadSecondsOf(pid: number, thread: number | string): number {
  const [onProcessor] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ');
  return Number(onProcessor) / nanosecondsPerSecond;
}

/** Resident anonymous memory, bytes. */
export function anonymousBytesOf(pid: number): number {
  const kibibytes = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kibibytes) * 1024;
}

/** Proportional set size, bytes: a page shared by several processes counts in part for each. */
export function pssBytesOf(pid: number): number {
  const kibibytes = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1];
  return Number(kibibytes) * 1024;
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Child process ids, oldest first. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

/** The oldest child whose command line contains the word. */
export function childOf(pid: number, word: string): number {
  const found = childrenOf(pid).find((child) =>
    readFileSync(`/proc/${child}/cmdline`, 'latin1').includes(word),
  );
  if (found === undefined) throw new Error(`process ${pid} has no child ${word}`);
  return found;
}
