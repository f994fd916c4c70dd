/** One life of a process, as its supervisor has it. Source: cluster.md, Several processes on one machine. */
import type { ProcessFork, ProcessState, ProcessTask } from './process-messages.ts';
import { SleepBorrower } from './sleep-port.ts';

export type ProcessLife = ReturnType<typeof beginLife>;

/** It has its task, and starts. */
export function beginLife(fork: ProcessFork, task: ProcessTask, nowMs: number) {
  return {
    fork,
    borrower: new SleepBorrower(fork),
    task,
    startedMs: nowMs,
    state: 'starting' as Exclude<ProcessState, 'down'>,
    /** Connections to the sleep port, while it is up. */
    takesConnections: true,
    heartbeatsUnanswered: 0,
    /** Its own reason why it cannot start. */
    fault: null as string | null,
    /** Called when it is up. */
    isUp: (): void => undefined,
  };
}
