/** One life of a process under the supervisor, and what its place asks of the house. Source: cluster.md, Several processes on one machine. */
import type { Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../core/ports/log.ts';
import type { WorkerSetState, ProcessFork, ProcessState, ProcessTask } from './process-messages.ts';
import type { ConnectionHandoff } from './connection-handoff.ts';

export interface SlotDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Throws when the machine has no process to give. */
  fork(): ProcessFork;
  /** For another life. */
  task(): ProcessTask;
  workerSet(): WorkerSetState;
  /** Told of every change of its facts. */
  changed(): void;
  wantsRestartOfWorkers(): void;
  /** A connection that was meant for a life that takes no more. */
  given(socket: Socket): void;
}

export interface Life {
  readonly fork: ProcessFork;
  readonly handoff: ConnectionHandoff;
  readonly task: ProcessTask;
  readonly startedMs: number;
  state: Exclude<ProcessState, 'down'>;
  heartbeatsUnanswered: number;
  /** Why it says that it cannot start. */
  fault: string | null;
}
