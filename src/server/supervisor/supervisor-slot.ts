/**
 * The place of one process under the supervisor: who holds it, whether that one still answers, and who comes after it.
 * One that dies is followed at once, by the same number and another member; one that dies soon after its start has its
 * follower wait. Source: cluster.md, Several processes on one machine.
 */
import type { Cancel } from '../../lib/clock.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import {
  processRestartMsMax,
  processRestartMsMin,
  processSilentHeartbeatsMax,
  processStartHeartbeatsMax,
} from '../../model/limits.ts';
import type { ListenerName, ProcessFacts, ProcessFork, ProcessReport } from './process-messages.ts';
import type { Life, SlotDeps } from './supervisor-life.ts';
import { ConnectionHandoff } from './connection-handoff.ts';

/** One that lived so long died of something else than its start. */
const soundMs = 5000;

export class SupervisorSlot {
  readonly #deps: SlotDeps;
  readonly #handle: Pick<ProcessFacts, 'process' | 'role'>;
  #life: Life | null = null;
  #listeners: Readonly<Partial<Record<ListenerName, string>>> = {};
  /** It was up once: whoever dies here is followed. */
  #isHeld = false;
  #isStopping = false;
  /** In a row, each soon after its start. */
  #quickDeaths = 0;
  #restarts = 0;
  #cancelRestart: Cancel = () => undefined;
  #whenUp: (() => void)[] = [];

  constructor(handle: Pick<ProcessFacts, 'process' | 'role'>, deps: SlotDeps) {
    this.#handle = handle;
    this.#deps = deps;
  }

  get facts(): ProcessFacts {
    const life = this.#life;
    const common = { ...this.#handle, restarts: this.#restarts };
    if (life === null) return { ...common, state: 'down', member: null, pid: null };
    return { ...common, state: life.state, member: life.task.member, pid: life.fork.pid };
  }

  /** Where it listens. Once it was up. */
  get listeners(): Readonly<Partial<Record<ListenerName, string>>> {
    return this.#listeners;
  }

  /** Null: nobody is there to be told. */
  get fork(): ProcessFork | null {
    return this.#life?.fork ?? null;
  }

  /** Who takes sleep connections here: one at most. */
  get takers(): readonly ConnectionHandoff[] {
    return this.#life?.state === 'up' ? [this.#life.handoff] : [];
  }

  /** Resolves when it is up; rejects, with a sentence, when it ends before. */
  start(): Promise<void> {
    const { clock } = this.#deps;
    const fork = this.#deps.fork();
    const task = this.#deps.task();
    const startedMs = clock.monotonicMs();
    const handoff = new ConnectionHandoff(fork);
    const life: Life = {
      fork,
      handoff,
      task,
      startedMs,
      state: 'starting',
      heartbeatsUnanswered: 0,
      fault: null,
    };
    this.#life = life;
    fork.order({ kind: 'begin', task, workerSet: this.#deps.workerSet() });
    return new Promise((resolve, reject) => {
      fork.onReport((report) => this.#reported(life, report, resolve));
      void fork.ended.then((how) => {
        reject(new Error(life.fault ?? `process ${this.#handle.process} ended while it started: ${how}`));
        this.#ended(life, how);
      });
      this.#deps.changed();
    });
  }

  /** Every `processBeatMs`. Counted and not timed: while the supervisor stands still nobody is silent. */
  heartbeat(): void {
    const life = this.#life;
    if (life === null) return;
    const heartbeatsMax = life.state === 'starting' ? processStartHeartbeatsMax : processSilentHeartbeatsMax;
    if (life.heartbeatsUnanswered >= heartbeatsMax) return this.#killSilent(life);
    life.heartbeatsUnanswered += 1;
    life.fork.order({ kind: 'beat' });
  }

  /** Drains who is there. Resolves when another is up in its place, or none is to come any more. */
  async replace(stopMsMax: number): Promise<void> {
    if (this.#life?.state === 'up') await this.#drain(this.#life, stopMsMax);
    if (this.#isStopping || this.#life?.state === 'up') return;
    await new Promise<void>((resolve) => this.#whenUp.push(resolve));
  }

  /** For good. Resolves when nobody is there. */
  async stop(stopMsMax: number): Promise<void> {
    this.#isStopping = true;
    this.#cancelRestart();
    this.#notifyWaiting();
    if (this.#life !== null) await this.#drain(this.#life, stopMsMax);
  }

  async #drain(life: Life, stopMsMax: number): Promise<void> {
    life.state = 'draining';
    this.#giveBack(life);
    this.#deps.changed();
    life.fork.order({ kind: 'stop' });
    if (await settlesWithin(this.#deps.clock, stopMsMax, life.fork.ended)) return;
    this.#deps.log.warn(this.#fieldsOf(life), 'a process does not stop by itself and is killed');
    life.fork.kill();
    await life.fork.ended;
  }

  #reported(life: Life, report: ProcessReport, up: () => void): void {
    switch (report.kind) {
      case 'loaded':
        return;
      case 'beat':
        life.heartbeatsUnanswered = 0;
        life.handoff.told(report);
        return;
      case 'failed':
        life.fault = report.reason;
        return;
      case 'restart-workers':
        return this.#deps.wantsRestartOfWorkers();
      case 'ready':
        this.#listeners = report.listeners;
        this.#isHeld = true;
        // It may have been told to stop meanwhile.
        if (life.state === 'starting') life.state = 'up';
        this.#deps.changed();
        up();
        this.#notifyWaiting();
    }
  }

  #killSilent(life: Life): void {
    const fields = { ...this.#fieldsOf(life), beats_unanswered: life.heartbeatsUnanswered };
    this.#deps.log.error(fields, 'a process does not answer any more and is killed');
    life.fork.kill();
  }

  #ended(life: Life, how: string): void {
    this.#life = null;
    this.#giveBack(life);
    if (this.#isHeld && !this.#isStopping) this.#followUp(life, how);
    this.#deps.changed();
  }

  #giveBack({ handoff }: Life): void {
    for (const socket of handoff.takeBack()) this.#deps.given(socket);
  }

  #followUp(life: Life, how: string): void {
    if (life.state === 'draining') return this.#startAfter(0);
    const { clock, log } = this.#deps;
    this.#restarts += 1;
    const livedMs = Math.round(clock.monotonicMs() - life.startedMs);
    this.#quickDeaths = livedMs >= soundMs && life.state === 'up' ? 0 : this.#quickDeaths + 1;
    const waitMs = restartMs(this.#quickDeaths);
    const fields = { ...this.#fieldsOf(life), how: life.fault ?? how, lived_ms: livedMs, restart_ms: waitMs };
    log.error(fields, 'a process died; it is started again');
    this.#startAfter(waitMs);
  }

  #startAfter(waitMs: number): void {
    const { clock, log } = this.#deps;
    const again = (): void => {
      try {
        // One that ends before it is up is followed like every other.
        this.start().catch(() => undefined);
      } catch (error) {
        this.#quickDeaths += 1;
        const nextMs = restartMs(this.#quickDeaths);
        const fields = { process: this.#handle.process, err: error, restart_ms: nextMs };
        log.error(fields, 'a process cannot be started');
        this.#startAfter(nextMs);
      }
    };
    if (waitMs === 0) again();
    else this.#cancelRestart = clock.after(waitMs, again);
  }

  #notifyWaiting(): void {
    for (const told of this.#whenUp.splice(0)) told();
  }

  #fieldsOf({ fork: { pid }, task: { member } }: Life): object {
    return { process: this.#handle.process, pid, member };
  }
}

/** Of one that died once there is no wait: its devices come back at once. */
function restartMs(quickDeaths: number): number {
  return quickDeaths <= 1 ? 0 : Math.min(processRestartMsMin * 2 ** (quickDeaths - 2), processRestartMsMax);
}
