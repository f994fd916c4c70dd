/**
 * Both ends of the channel that Node gives to a child process: the supervisor's, which forks the same program once more,
 * with the same arguments and environment, so that it finds the same settings; and the process's own. It carries their
 * messages, the sockets of the sleep port, and those of the sessions that one process hands over to another. Source: cluster.md, Several processes on one machine.
 */
import { fork, type ChildProcess } from 'node:child_process';
import type { Server } from 'node:net';
import type { BoundSocket, SocketHandle } from '../../lib/bound-sockets.ts';
import type { ProcessFork, ProcessOrder, ProcessReport } from './process-messages.ts';

/**
 * Half of V8's young generation in a process. By itself it grows to 16 MiB in a storm of logins, in Node 24 to 64, and
 * shrinks only in a process that rests: many processes on a machine would each keep both halves of it.
 */
const semiSpaceMebibytesMax = 4;

/**
 * `program`: the file to run; `args`: its arguments. V8's options of this process are its too, and prevail. Throws when the
 * machine has no process to give.
 */
export function forkProcess(program: string, args: readonly string[]): ProcessFork {
  const execArgv = [`--max-semi-space-size=${semiSpaceMebibytesMax}`, ...process.execArgv];
  return new ChildFork(fork(program, args, { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
}

class ChildFork implements ProcessFork {
  readonly pid: number | null;
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  /** Orders until it listens; null: it does. */
  #waiting: ProcessOrder[] | null = [];
  /** Reports that came before there was a receiver. */
  readonly #early: ProcessReport[] = [];
  #reported: (report: ProcessReport, socket: SocketHandle | null) => void = (report) =>
    void this.#early.push(report);

  constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid ?? null;
    this.ended = new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    child.on('message', (report: ProcessReport, socket: SocketHandle | undefined) => {
      if (report.kind === 'loaded') this.#loaded();
      else this.#reported(report, socket ?? null);
    });
  }

  onReport(reported: (report: ProcessReport, socket: SocketHandle | null) => void): void {
    this.#reported = reported;
    for (const report of this.#early.splice(0)) reported(report, null);
  }

  order(order: ProcessOrder, socket?: BoundSocket, sent: () => void = () => undefined): void {
    if (this.#waiting !== null) return void this.#waiting.push(order);
    if (!this.#child.connected) return sent();
    // It may be gone before the order is written: its end shows by itself. A bare handle goes the way of a server's.
    this.#child.send(order, socket as Server | undefined, undefined, sent);
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

const supervisorsSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;

/** The socket of the signal port is for who asks for it. */
export type FollowedOrder = Exclude<ProcessOrder, { kind: 'signal-socket' }>;

/**
 * Call it once, as soon as orders can be followed: until then they wait. They come by the channel and nowhere else: signals,
 * which whoever stops a service sends to all of its processes, are the supervisor's affair. `alone`: the supervisor is gone, and
 * no order will come any more.
 */
export function followSupervisor(
  follow: (order: FollowedOrder, socket: BoundSocket | null) => void,
  alone: () => void,
): void {
  for (const signal of supervisorsSignals) process.on(signal, () => undefined);
  process.on('message', (order: ProcessOrder, socket: BoundSocket | undefined) => {
    if (order.kind !== 'signal-socket') follow(order, socket ?? null);
    else if (socket !== undefined) acceptSignalSocket(socket);
  });
  process.on('disconnect', alone);
  reportToSupervisor({ kind: 'loaded' });
}

let acceptSignalSocket: (socket: BoundSocket) => void = () => undefined;

/** Resolves to the socket of the signal port, which the supervisor has bound for all workers. */
export function askSignalSocket(): Promise<BoundSocket> {
  reportToSupervisor({ kind: 'wants-signal-socket' });
  return new Promise((accept) => (acceptSignalSocket = accept));
}

/** `sent` is called when it is on its way, or when the supervisor is gone. */
export function reportToSupervisor(
  report: ProcessReport,
  sent: (error: Error | null) => void = () => undefined,
  socket?: SocketHandle,
): void {
  if (process.connected) process.send?.(report, socket as Server | undefined, undefined, sent);
  else sent(new Error('the supervisor is gone'));
}
