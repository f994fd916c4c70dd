/** Processes that a test starts for a supervisor, speaks for and kills; time is the test's. */
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type {
  WorkerSetState,
  ProcessFork,
  ProcessOrder,
  ProcessReport,
  ProcessTask,
} from '../../src/server/supervisor/process-messages.ts';
import { Supervisor } from '../../src/server/supervisor/supervisor.ts';
import { SupervisorSleepPort } from '../../src/server/supervisor/process-ports.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeLog } from './fakes.ts';

export class FakeFork implements ProcessFork {
  readonly pid: number;
  readonly ended: Promise<string>;
  readonly orders: ProcessOrder[] = [];
  /** Answers heartbeats, and stops when it is told to. */
  isSound = true;
  wasKilled = false;
  /** At once. */
  takesSockets = true;
  readonly handed: Socket[] = [];
  sleepConnections = 0;
  #takes: () => void = () => undefined;
  #end: (how: string) => void = () => undefined;
  readonly #unheard: ProcessReport[] = [];
  #told: (report: ProcessReport) => void = (report) => void this.#unheard.push(report);

  constructor(pid: number) {
    this.pid = pid;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  onReport(told: (report: ProcessReport) => void): void {
    this.#told = told;
    for (const report of this.#unheard.splice(0)) told(report);
  }

  hand(socket: Socket, sent: () => void): void {
    this.handed.push(socket);
    if (this.takesSockets) sent();
    else this.#takes = sent;
  }

  /** The connection on its way is there. */
  taken(): void {
    this.#takes();
  }

  order(order: ProcessOrder): void {
    this.orders.push(order);
    if (!this.isSound) return;
    if (order.kind === 'heartbeat')
      this.report({
        kind: 'heartbeat',
        sleepConnections: this.sleepConnections,
        sleepTaken: this.handed.length,
      });
    if (order.kind === 'stop') this.die('exit code 0');
  }

  kill(): void {
    this.wasKilled = true;
    this.die('SIGKILL');
  }

  die(how: string): void {
    this.#end(how);
  }

  report(report: ProcessReport): void {
    this.#told(report);
  }

  ready(): void {
    const { role } = this.task;
    const listeners =
      role === 'coordinator' ? { ops: '127.0.0.1:8090' } : { api: '127.0.0.1:8080', sleep: '127.0.0.1:8081' };
    this.report({ kind: 'ready', listeners });
  }

  /** What it was told to be. */
  get task(): ProcessTask {
    const [begin] = this.orders;
    if (begin?.kind !== 'begin') throw new Error('it was not told what it is');
    return begin.task;
  }

  /** Null: it waits. */
  get process(): number | null {
    return this.orders.length === 0 ? null : this.task.process;
  }

  /** Who lives, as it was told last: `0 coordinator up`. */
  get members(): string[] {
    return this.#workerSet.processes.map(({ process, role, state }) => `${process} ${role} ${state}`);
  }

  get knowsStop(): boolean {
    return this.#workerSet.isStopping;
  }

  has(kind: ProcessOrder['kind']): boolean {
    return this.orders.some((order) => order.kind === kind);
  }

  get #workerSet(): WorkerSetState {
    const last = this.orders.findLast((order) => 'workerSet' in order);
    if (last === undefined) throw new Error('it was not told who lives');
    return last.workerSet;
  }
}

/** Accepts what a test gives it. */
export class FakeSleepPort extends SupervisorSleepPort {
  isListening = false;

  override listen(): Promise<void> {
    this.isListening = true;
    return Promise.resolve();
  }

  override close(): void {
    this.isListening = false;
  }
}

export class FakeSocket {
  wasReset = false;

  resetAndDestroy(): void {
    this.wasReset = true;
  }
}

export const stopMsMax = 50_000;

const port = (number: number) => ({ host: '127.0.0.1', port: number });
const listeners = {
  api: port(8080),
  sleep: port(8081),
  signal: port(8082),
  media: port(8083),
  ops: port(8090),
};

export class SupervisorScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly forks: FakeFork[] = [];
  /** A port that is the test's. */
  readonly sleepPort: FakeSleepPort;
  readonly supervisor: Supervisor;
  /** Thrown by the next forks. */
  noProcess: Error | null = null;

  constructor(workers: number) {
    const { clock, log } = this;
    let opened: FakeSleepPort | null = null;
    this.supervisor = new Supervisor({
      clock,
      log,
      node: 'node-a',
      workers,
      socketDirectory: '/tmp/sockets',
      listeners,
      stopMsMax,
      fork: () => this.#fork(),
      openSleepPort: (workers) => (opened = new FakeSleepPort(log, workers)),
    });
    if (opened === null) throw new Error('a supervisor has a sleep port');
    this.sleepPort = opened;
  }

  /** All up. */
  async started(): Promise<void> {
    const starting = this.supervisor.start();
    await this.settle();
    this.forks[0]?.ready();
    await this.settle();
    for (const worker of this.forks.slice(1)) worker.ready();
    await starting;
    await this.settle();
  }

  /** The latest life of a process. */
  life(process: number): FakeFork {
    const fork = this.forks.findLast((one) => one.process === process);
    if (fork === undefined) throw new Error(`process ${process} was never started`);
    return fork;
  }

  lives(process: number): number {
    return this.forks.filter((one) => one.process === process).length;
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 8; i += 1) await turn();
  }

  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
      this.clock.advance(Math.min(leftMs, 500));
      await this.settle();
    }
  }

  #fork(): FakeFork {
    if (this.noProcess !== null) throw this.noProcess;
    const fork = new FakeFork(1000 + this.forks.length);
    this.forks.push(fork);
    return fork;
  }
}
