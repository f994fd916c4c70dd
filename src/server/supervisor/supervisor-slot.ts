/**
 * One process under the supervisor, from life to life: whether it still answers, and what follows it. A process that dies
 * is started again at once, with the same number and as another member; after a death soon after its start, later. One that is
 * replaced drains, or hands over to a successor, and both live for a while.
 * Source: cluster.md, Several processes on one machine.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ListenerName } from '../config/settings-schema.ts';
import { Restarts } from '../../lib/restarts.ts';
import {
  processRestartMsMax,
  processRestartMsMin,
  processSilentHeartbeatsMax,
  processStartHeartbeatsMax,
} from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { BoundSocket, SocketHandle } from '../../lib/bound-sockets.ts';
import type { MemberId } from '../../model/cluster.ts';
import { endOrKill, soundLifeMs } from '../children/spare.ts';
import type {
  ProcessFacts,
  ProcessFork,
  ProcessReport,
  ProcessTask,
  SleepReturn,
  WorkerSetState,
} from './process-messages.ts';
import type { SleepBorrower } from './sleep-port.ts';
import { beginLife, type ProcessLife } from './process-life.ts';
import { WorkerHandOver } from './worker-hand-over.ts';

export interface SlotDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Throws when the machine has no process to give. */
  fork(): ProcessFork;
  /** For the next life. `succeeded`: the member that it goes on as; null: it is another one. */
  task(succeeded: MemberId | null): ProcessTask;
  workerSet(): WorkerSetState;
  /** Called at every change of its facts. */
  changed(): void;
  /** `all`: of the workers, then of the coordinator. */
  wantsReplacement(of: 'workers' | 'all'): void;
  sleepSocketTaken(number: number): void;
  /** The socket of the signal port; null: it is closed. */
  signalSocket(): BoundSocket | null;
  sleepSocketReturned(by: SleepBorrower, what: SleepReturn): void;
}

export class SupervisorSlot {
  readonly #deps: SlotDeps;
  readonly #handle: Pick<ProcessFacts, 'process' | 'role'>;
  #life: ProcessLife | null = null;
  readonly #handOver: WorkerHandOver;
  #listeners: Readonly<Partial<Record<ListenerName, string>>> = {};
  readonly #restarts: Restarts;
  /** It was up once: from now on a death is followed by a start. */
  #wasUp = false;
  #isStopping = false;
  #restartCount = 0;
  readonly #whenUp: ((result: Result<null, string>) => void)[] = [];

  constructor(handle: Pick<ProcessFacts, 'process' | 'role'>, deps: SlotDeps) {
    this.#handle = handle;
    this.#deps = deps;
    const [msMin, msMax] = [processRestartMsMin, processRestartMsMax];
    // After one death its devices come back at once.
    this.#restarts = new Restarts(deps.clock, { immediate: 1, msMin, msMax });
    this.#handOver = new WorkerHandOver({
      ...deps,
      serving: () => this.#life,
      begin: (member) => this.#begin(member),
      succeeded: (successor) => (this.#life = successor),
    });
  }

  get facts(): ProcessFacts {
    const life = this.#life;
    const common = { ...this.#handle, restarts: this.#restartCount };
    if (life === null) return { ...common, state: 'down', member: null, pid: null };
    return { ...common, state: life.state, member: life.task.member, pid: life.fork.pid };
  }

  /** Real addresses, by name; once it was up. */
  get listeners(): Readonly<Partial<Record<ListenerName, string>>> {
    return this.#listeners;
  }

  /** Null: it is down. */
  get fork(): ProcessFork | null {
    return this.#life?.fork ?? null;
  }

  /** All that live: one, and another while it hands over. */
  get forks(): readonly ProcessFork[] {
    return this.#lives.map(({ fork }) => fork);
  }

  /** Of sockets of the sleep port; none while it is not up, or is handing over. */
  get borrowers(): readonly SleepBorrower[] {
    return this.#life?.state === 'up' && this.#life.takesConnections ? [this.#life.borrower] : [];
  }

  /** Resolves when it is up; rejects, with a sentence, when it ends before. */
  start(): Promise<void> {
    const life = this.#begin(null);
    this.#life = life;
    return new Promise((resolve, reject) => {
      life.isUp = resolve;
      void life.fork.ended.then((how) =>
        reject(new Error(life.fault ?? `process ${this.#handle.process} ended while it started: ${how}`)),
      );
      this.#deps.changed();
    });
  }

  /** Every `processHeartbeatMs`. Counted and not timed: while the supervisor stands still nobody is silent. */
  heartbeat(): void {
    for (const life of this.#lives) this.#heartbeatOf(life);
  }

  #heartbeatOf(life: ProcessLife): void {
    const heartbeatsMax = life.state === 'starting' ? processStartHeartbeatsMax : processSilentHeartbeatsMax;
    if (life.heartbeatsUnanswered >= heartbeatsMax) return this.#killSilent(life);
    life.heartbeatsUnanswered += 1;
    life.fork.order({ kind: 'heartbeat' });
  }

  /**
   * Has a process of the release that is in place now go on with what this one has. Resolves when that serves alone; fails with
   * a sentence when the one that served goes on. One that does not serve is waited for.
   */
  async handOver(): Promise<Result<null, string>> {
    if (this.#life?.state === 'up') return this.#handOver.handOver(this.#life);
    return this.#untilUp();
  }

  /** Drains it. Resolves when its next life is up, or none is to come any more; fails, with a sentence, when that ends before, and another is tried. */
  async replace(stopMsMax: number): Promise<Result<null, string>> {
    if (this.#life?.state === 'up') await this.#drain(this.#life, stopMsMax);
    return this.#untilUp();
  }

  /** For good. Resolves when it is gone. */
  async stop(stopMsMax: number): Promise<void> {
    this.#isStopping = true;
    this.#restarts.stop();
    this.#notifyWaiting(succeed(null));
    this.#handOver.stop();
    if (this.#life !== null) await this.#drain(this.#life, stopMsMax);
    for (const { fork } of this.#lives) fork.kill();
  }

  /** Fails, with a sentence, when the life that starts ends before. */
  async #untilUp(): Promise<Result<null, string>> {
    if (this.#isStopping || this.#life?.state === 'up') return succeed(null);
    return new Promise((resolve) => this.#whenUp.push(resolve));
  }

  get #lives(): readonly ProcessLife[] {
    return this.#life === null ? this.#handOver.lives : [this.#life, ...this.#handOver.lives];
  }

  /** `succeeded`: the member that it goes on as; null: it is another one. Throws when the machine has no process to give. */
  #begin(succeeded: MemberId | null): ProcessLife {
    const fork = this.#deps.fork();
    const life = beginLife(fork, this.#deps.task(succeeded), this.#deps.clock.monotonicMs());
    fork.order({ kind: 'begin', task: life.task, workerSet: this.#deps.workerSet() });
    fork.onReport((report, socket) => this.#reported(life, report, socket));
    void fork.ended.then((how) => this.#ended(life, how));
    return life;
  }

  async #drain(life: ProcessLife, stopMsMax: number): Promise<void> {
    life.state = 'draining';
    this.#deps.changed();
    life.fork.order({ kind: 'stop' });
    const { clock, log } = this.#deps;
    await endOrKill(life.fork, {
      clock,
      msMax: stopMsMax,
      ending: life.fork.ended,
      overdue: () => log.warn(this.#fieldsOf(life), 'a process does not stop by itself and is killed'),
    });
  }

  #reported(life: ProcessLife, report: ProcessReport, socket: SocketHandle | null): void {
    switch (report.kind) {
      case 'loaded':
        return;
      case 'heartbeat':
        life.heartbeatsUnanswered = 0;
        return life.borrower.reported(report.sleep);
      case 'sleep-socket-taken':
        return this.#deps.sleepSocketTaken(report.number);
      case 'sleep-socket-back':
        life.borrower.reported(report.sleep);
        return this.#deps.sleepSocketReturned(life.borrower, report);
      case 'wants-signal-socket':
        return life.fork.order({ kind: 'signal-socket' }, this.#deps.signalSocket() ?? undefined);
      case 'failed':
        life.fault = report.reason;
        return;
      case 'restart-workers':
        return this.#deps.wantsReplacement('workers');
      case 'upgrade':
        return this.#deps.wantsReplacement('all');
      case 'lets-go':
        life.takesConnections = false;
        return this.#deps.changed();
      case 'ready':
        return this.#isUp(life, report);
      default:
        this.#handOver.reported(life, report, socket);
    }
  }

  #isUp(life: ProcessLife, { listeners, sleep }: Extract<ProcessReport, { kind: 'ready' }>): void {
    this.#listeners = listeners;
    this.#wasUp = true;
    // It may have been told to stop meanwhile.
    if (life.state === 'starting') life.state = 'up';
    life.takesConnections = true;
    life.borrower.reported(sleep);
    this.#handOver.up(life);
    this.#deps.changed();
    life.isUp();
    this.#notifyWaiting(succeed(null));
  }

  #killSilent(life: ProcessLife): void {
    const fields = { ...this.#fieldsOf(life), heartbeats_unanswered: life.heartbeatsUnanswered };
    this.#deps.log.error(fields, 'a process does not answer any more and is killed');
    life.fork.kill();
  }

  #ended(life: ProcessLife, how: string): void {
    if (this.#handOver.ended(life, how)) return;
    this.#life = null;
    this.#handOver.lost(life.fault ?? how);
    if (life.state === 'starting')
      this.#notifyWaiting(fail(`it ended while it started: ${life.fault ?? how}`));
    if (this.#wasUp && !this.#isStopping) this.#followUp(life, how);
    this.#deps.changed();
  }

  #followUp(life: ProcessLife, how: string): void {
    if (life.state === 'draining') return this.#startAfter(0);
    const { clock, log } = this.#deps;
    this.#restartCount += 1;
    const livedMs = Math.round(clock.monotonicMs() - life.startedMs);
    const waitMs = this.#restarts.died(livedMs >= soundLifeMs && life.state === 'up');
    const fields = { ...this.#fieldsOf(life), how: life.fault ?? how, lived_ms: livedMs, restart_ms: waitMs };
    log.error(fields, 'a process died; it is started again');
    this.#startAfter(waitMs);
  }

  #startAfter(waitMs: number): void {
    // One that ends before it is up is followed like every other.
    const start = (): void => void this.start().catch(() => undefined);
    this.#restarts.startAfter(waitMs, start, (error, nextMs) => {
      const fields = { process: this.#handle.process, err: error, restart_ms: nextMs };
      this.#deps.log.error(fields, 'a process cannot be started');
    });
  }

  #notifyWaiting(result: Result<null, string>): void {
    for (const settle of this.#whenUp.splice(0)) settle(result);
  }

  #fieldsOf({ fork: { pid }, task: { member } }: ProcessLife): object {
    return { process: this.#handle.process, pid, member };
  }
}
