/** One life of a process, as its supervisor has it. Source: cluster.md, Several processes on one machine. */
import type { ProcessFork, ProcessState, ProcessTask } from './process-messages.ts';
import { SleepBorrower } from './sleep-port.ts';

export interface ProcessLife {
  readonly fork: ProcessFork;
  readonly borrower: SleepBorrower;
  readonly task: ProcessTask;
  readonly startedMs: number;
  state: Exclude<ProcessState, 'down'>;
  /** Connections to the sleep port, while it is up. */
  takesConnections: boolean;
  heartbeatsUnanswered: number;
  /** Its own reason why it cannot start. */
  fault: string | null;
  /** Called when it is up. */
  isUp: () => void;
}

/** It has its task, and starts. */
export function beginLife(fork: ProcessFork, task: ProcessTask, nowMs: number): ProcessLife {
  return {
    fork,
    borrower: new SleepBorrower(fork),
    task,
    startedMs: nowMs,
    state: 'starting',
    takesConnections: true,
    heartbeatsUnanswered: 0,
    fault: null,
    isUp: () => undefined,
  };
}
