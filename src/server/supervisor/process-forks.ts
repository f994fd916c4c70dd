/**
 * Processes as the supervisor forks them: the same program once more, with the same arguments and environment, so that
 * it finds the same settings. Over the channel that Node gives to a child go what they say to each other and the
 * connections to the sleep port. Source: cluster.md, Several processes on one machine.
 */
import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { ProcessFork, ProcessOrder, ProcessReport } from './process-messages.ts';

/** `program`: the file to run; `args`: its arguments. Throws when the machine has no process to give. */
export function forkProcess(program: string, args: readonly string[]): ProcessFork {
  return new ChildFork(fork(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
}

class ChildFork implements ProcessFork {
  readonly pid: number | null;
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  /** What it is to be told when it listens; null: it does. */
  #waiting: ProcessOrder[] | null = [];
  /** What it said before anybody listened. */
  readonly #unheard: ProcessReport[] = [];
  #told: (report: ProcessReport) => void = (report) => void this.#unheard.push(report);

  constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid ?? null;
    this.ended = new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    child.on('message', (report: ProcessReport) => {
      if (report.kind === 'loaded') this.#loaded();
      else this.#told(report);
    });
  }

  onReport(told: (report: ProcessReport) => void): void {
    this.#told = told;
    for (const report of this.#unheard.splice(0)) told(report);
  }

  order(order: ProcessOrder): void {
    if (this.#waiting !== null) return void this.#waiting.push(order);
    if (!this.#child.connected) return;
    // It may be gone before it is written: its end is told by itself.
    this.#child.send(order, () => undefined);
  }

  hand(socket: Socket, sent: () => void): void {
    if (!this.#child.connected) return;
    const order: ProcessOrder = { kind: 'sleep-connection' };
    this.#child.send(order, socket, undefined, (error) => {
      if (error === null) sent();
    });
  }

  #loaded(): void {
    const orders = this.#waiting ?? [];
    this.#waiting = null;
    for (const order of orders) this.order(order);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
