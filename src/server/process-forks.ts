/**
 * Processes as node:cluster forks them: the same program once more, with the same arguments and environment, so that
 * it finds the same settings. A connection to the sleep port is accepted by the supervisor and handed to them in turn,
 * which is what spreads devices evenly; everything else they listen on themselves. Source: cluster.md, Several processes on one machine.
 */
import cluster, { type Worker } from 'node:cluster';
import type { ProcessFork, ProcessOrder, ProcessReport } from './process-messages.ts';

/** `program`: the file to run; `args`: its arguments. Called once. */
export function prepareForks(program: string, args: readonly string[]): void {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ exec: program, args: [...args], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

/** Throws when the machine has no process to give. */
export function forkProcess(): ProcessFork {
  return new ClusterFork(cluster.fork());
}

class ClusterFork implements ProcessFork {
  readonly pid: number | null;
  readonly ended: Promise<string>;
  readonly #worker: Worker;
  /** What it is to be told when it listens; null: it does. */
  #waiting: ProcessOrder[] | null = [];
  /** What it said before anybody listened. */
  readonly #unheard: ProcessReport[] = [];
  #told: (report: ProcessReport) => void = (report) => void this.#unheard.push(report);

  constructor(worker: Worker) {
    this.#worker = worker;
    this.pid = worker.process.pid ?? null;
    this.ended = new Promise((resolve) => {
      worker.on('error', (error) => resolve(error.message));
      worker.on('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    worker.on('message', (report: ProcessReport) => {
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
    if (!this.#worker.isConnected()) return;
    // It may be gone before it is written: its end is told by itself.
    this.#worker.send(order, () => undefined);
  }

  #loaded(): void {
    const orders = this.#waiting ?? [];
    this.#waiting = null;
    for (const order of orders) this.order(order);
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }
}
