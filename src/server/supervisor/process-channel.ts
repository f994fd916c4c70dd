/**
 * Both ends of the channel that Node gives to a child process: the supervisor's, which forks the same program once more,
 * with the same arguments and environment, so that it finds the same settings; and the process's own. It carries their
 * messages and the connections to the sleep port. Source: cluster.md, Several processes on one machine.
 */
import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type {
  ProcessFork,
  ProcessOrder,
  ProcessReport,
  ProcessTask,
  WorkerSetState,
} from './process-messages.ts';

/** `program`: the file to run; `args`: its arguments. Throws when the machine has no process to give. */
export function forkProcess(program: string, args: readonly string[]): ProcessFork {
  return new ChildFork(fork(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
}

class ChildFork implements ProcessFork {
  readonly pid: number | null;
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  /** Orders until it listens; null: it does. */
  #waiting: ProcessOrder[] | null = [];
  /** Reports that came before there was a receiver. */
  readonly #early: ProcessReport[] = [];
  #reported: (report: ProcessReport) => void = (report) => void this.#early.push(report);

  constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid ?? null;
    this.ended = new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    child.on('message', (report: ProcessReport) => {
      if (report.kind === 'loaded') this.#loaded();
      else this.#reported(report);
    });
  }

  onReport(reported: (report: ProcessReport) => void): void {
    this.#reported = reported;
    for (const report of this.#early.splice(0)) reported(report);
  }

  order(order: ProcessOrder): void {
    if (this.#waiting !== null) return void this.#waiting.push(order);
    if (!this.#child.connected) return;
    // It may be gone before the order is written: its end shows by itself.
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

/**
 * A process's orders come by the channel and nowhere else: signals, which whoever stops a service sends to all of its
 * processes, are the supervisor's affair.
 */
export interface ProcessOrders {
  /** Once, before all others. */
  begin(task: ProcessTask, workerSet: WorkerSetState): void;
  workerSet(workerSet: WorkerSetState): void;
  reload(): void;
  /** By a signal to the supervisor. */
  restartWorkers(): void;
  stop(): void;
  /** A connection to the sleep port, just accepted. */
  sleepConnection(socket: Socket): void;
  /** Open connections of the sleep port. */
  sleepConnections(): number;
  /** The supervisor is gone, and no order will come any more. */
  alone(): void;
}

const supervisorsSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;

/** Call it once, as soon as orders can be followed: until then they wait. */
export function followSupervisor(orders: ProcessOrders): void {
  for (const signal of supervisorsSignals) process.on(signal, () => undefined);
  let sleepTaken = 0;
  process.on('message', (order: ProcessOrder, socket: Socket | undefined) => {
    if (order.kind === 'sleep-connection') {
      sleepTaken += 1;
      if (socket !== undefined) orders.sleepConnection(socket);
    } else if (order.kind === 'heartbeat')
      reportToSupervisor({ kind: 'heartbeat', sleepConnections: orders.sleepConnections(), sleepTaken });
    else obey(order, orders);
  });
  process.on('disconnect', () => orders.alone());
  reportToSupervisor({ kind: 'loaded' });
}

/** `sent` is called when it is on its way, or when the supervisor is gone. */
export function reportToSupervisor(report: ProcessReport, sent: () => void = () => undefined): void {
  if (process.connected) process.send?.(report, undefined, undefined, sent);
  else sent();
}

type Plain = Exclude<ProcessOrder, { kind: 'heartbeat' | 'sleep-connection' }>;

function obey(order: Plain, orders: ProcessOrders): void {
  switch (order.kind) {
    case 'begin':
      return orders.begin(order.task, order.workerSet);
    case 'worker-set':
      return orders.workerSet(order.workerSet);
    case 'reload':
      return orders.reload();
    case 'restart-signalled':
      return orders.restartWorkers();
    case 'stop':
      return orders.stop();
  }
}
