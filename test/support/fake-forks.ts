/** Processes that a test starts for a supervisor, speaks for and kills; time is the test's. */
import { setImmediate as turn } from 'node:timers/promises';
import type { BoundSocket } from '../../src/lib/bound-sockets.ts';
import type { SleepCounts } from '../../src/edge/sleep-sockets.ts';
import type {
  WorkerSetState,
  ProcessFork,
  ProcessOrder,
  ProcessReport,
  ProcessTask,
} from '../../src/server/supervisor/process-messages.ts';
import { Supervisor } from '../../src/server/supervisor/supervisor.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeLog } from './fakes.ts';

type Told = Parameters<ProcessFork['onReport']>[0];

export class FakeFork implements ProcessFork {
  readonly pid: number;
  readonly ended: Promise<string>;
  readonly orders: ProcessOrder[] = [];
  /** What came with each. */
  readonly sockets: (BoundSocket | null)[] = [];
  /** Answers heartbeats, and stops when it is told to. */
  isSound = true;
  wasKilled = false;
  /** Connections to the sleep port. */
  open = 0;
  #taken = 0;
  /** What it may still take, by the numbers of the sockets that it is lent. */
  readonly lent = new Map<number, number>();
  #end: (how: string) => void = () => undefined;
  readonly #unheard: ProcessReport[] = [];
  #told: Told = (report) => void this.#unheard.push(report);

  constructor(pid: number) {
    this.pid = pid;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  onReport(told: Told): void {
    this.#told = told;
    for (const report of this.#unheard.splice(0)) told(report, null);
  }

  /** Connections come to one of its sockets. */
  accept(number: number, count: number): void {
    const left = (this.lent.get(number) ?? 0) - count;
    if (left < 0) throw new Error(`it may not take ${count} from socket ${number}`);
    this.open += count;
    this.#taken += count;
    this.lent.set(number, left);
    if (left === 0) this.#giveBack(number);
  }

  #giveBack(number: number): void {
    const unused = this.lent.get(number) ?? 0;
    this.lent.delete(number);
    this.report({ kind: 'sleep-socket-back', number, unused, sleep: this.#counts });
  }

  get #counts(): SleepCounts {
    return { open: this.open, taken: this.#taken };
  }

  order(order: ProcessOrder, socket?: BoundSocket, sent: () => void = () => undefined): void {
    this.orders.push(order);
    this.sockets.push(socket ?? null);
    sent();
    if (order.kind === 'sleep-socket') this.lent.set(order.number, order.connections);
    if (!this.isSound) return;
    if (order.kind === 'sleep-socket') this.report({ kind: 'sleep-socket-taken', number: order.number });
    if (order.kind === 'sleep-sockets-back') {
      // Some come again at once.
      const numbers = Array.from(this.lent.keys());
      for (const number of numbers) this.#giveBack(number);
    }
    if (order.kind === 'heartbeat') this.report({ kind: 'heartbeat', sleep: this.#counts });
    if (order.kind === 'stop') this.die('exit code 0');
  }

  kill(): void {
    this.wasKilled = true;
    this.die('SIGKILL');
  }

  die(how: string): void {
    this.#end(how);
  }

  report(report: ProcessReport, socket: BoundSocket | null = null): void {
    this.#told(report, socket);
  }

  ready(): void {
    const { role } = this.task;
    const listeners =
      role === 'coordinator' ? { ops: '127.0.0.1:8090' } : { api: '127.0.0.1:8080', sleep: '127.0.0.1:8081' };
    this.report({ kind: 'ready', listeners, sleep: this.#counts });
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

  get upgrade(): WorkerSetState['upgrade'] {
    return this.#workerSet.upgrade;
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

export class FakeBoundSocket implements BoundSocket {
  isOpen = true;

  close(): void {
    this.isOpen = false;
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
  /** Of the sleep port; none until it is open. */
  sockets: readonly FakeBoundSocket[] = [];
  readonly supervisor: Supervisor;
  /** Thrown when the sleep port is opened. */
  noSockets: Error | null = null;
  /** Thrown by the next forks. */
  noProcess: Error | null = null;

  /** `sockets` of the sleep port: as many, or one. `passesSockets`: from one process to another. */
  constructor(workers: number, sockets = workers, passesSockets = false) {
    const { clock, log } = this;
    this.supervisor = new Supervisor({
      clock,
      log,
      node: 'node-a',
      workers,
      socketDirectory: '/tmp/sockets',
      listeners,
      stopMsMax,
      fork: () => this.#fork(),
      passesSockets,
      bindOne: async () => new FakeBoundSocket(),
      bind: async () => {
        if (this.noSockets !== null) throw this.noSockets;
        this.sockets = Array.from({ length: sockets }, () => new FakeBoundSocket());
        return this.sockets;
      },
    });
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

  /** Its latest workers, by number. */
  get workers(): FakeFork[] {
    const numbers = new Set(this.forks.map(({ process }) => process ?? 0));
    return [...numbers].filter((number) => number > 0).map((number) => this.life(number));
  }

  /** A connection to the socket of this number; false: it waits there. */
  connect(number: number): boolean {
    const holder = this.workers.find(({ lent }) => lent.has(number));
    holder?.accept(number, 1);
    return holder !== undefined;
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
