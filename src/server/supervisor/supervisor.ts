/**
 * Several server processes as one: the supervisor starts the coordinator, then the workers, keeps all of them informed of
 * the living ones, notices a process that does not answer any more, and stops them in order, workers first. It holds
 * nothing that a device or a caller needs: its processes go on without it for as long as it is slow.
 * Source: cluster.md, Several processes on one machine.
 */
import { randomUUID } from 'node:crypto';
import type { ListenerName } from '../config/settings-schema.ts';
import type { BoundSocket } from '../../lib/bound-sockets.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { MemberId } from '../../model/cluster.ts';
import { processHeartbeatMs, processSpareDelayMs } from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import type { ListenAddress } from '../../lib/connections/listen-address.ts';
import {
  coordinatorNumber,
  supervisorVersion,
  type WorkerSetState,
  type ProcessFork,
  type ProcessTask,
  type UpgradeState,
} from './process-messages.ts';
import { Spare } from '../children/spare.ts';
import { SupervisorSleepPort, type SleepPortDeps } from './sleep-port.ts';
import { SupervisorSlot } from './supervisor-slot.ts';

export interface SupervisorDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Of the machine, in events. */
  readonly node: string;
  /** How many, from 1 on. */
  readonly workers: number;
  readonly socketDirectory: string;
  readonly listeners: ProcessTask['listeners'];
  /** A process may take so long to stop. */
  readonly stopMsMax: number;
  /** Throws when the machine has no process to give. */
  fork(): ProcessFork;
  /** From one process to another. */
  readonly passesSockets: boolean;
  /** Sockets of the sleep port. */
  readonly bind: SleepPortDeps['bind'];
  /** One socket, which all workers accept from. */
  bindOne(address: ListenAddress): Promise<BoundSocket>;
}

export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #spare: Spare<ProcessFork>;
  readonly #coordinator: SupervisorSlot;
  readonly #workers: readonly SupervisorSlot[];
  readonly #sleepPort: SupervisorSleepPort;
  #signalSocket: BoundSocket | null = null;
  #stopHeartbeats: Cancel = () => undefined;
  #isStopping = false;
  #upgrade: UpgradeState = { isUnderWay: false, failure: null };
  /** How often one was asked for. */
  #asked = 0;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    const { clock, log } = deps;
    this.#spare = new Spare({
      clock,
      log,
      name: 'process',
      delayMs: processSpareDelayMs,
      start: () => deps.fork(),
    });
    this.#sleepPort = new SupervisorSleepPort(deps, () =>
      this.#workers.flatMap(({ borrowers }) => borrowers),
    );
    this.#coordinator = this.#slot(coordinatorNumber);
    this.#workers = Array.from({ length: deps.workers }, (_, index) =>
      this.#slot(coordinatorNumber + 1 + index),
    );
  }

  /** Resolves when all are up. When one cannot start, rejects with a sentence for the operator, and all are gone. */
  async start(): Promise<void> {
    this.#stopHeartbeats = this.#deps.clock.every(processHeartbeatMs, () => this.#heartbeat());
    try {
      this.#signalSocket = await this.#deps.bindOne(this.#deps.listeners.signal);
      await this.#coordinator.start();
      if (!this.#isStopping) await Promise.all(this.#workers.map((worker) => worker.start()));
      if (!this.#isStopping) await this.#sleepPort.open(this.#deps.listeners.sleep, this.#workers.length);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Real addresses, by name; once all are up. */
  get listeners(): Readonly<Partial<Record<ListenerName, string>>> {
    return { ...this.#workers[0]?.listeners, ...this.#coordinator.listeners };
  }

  reload(): void {
    for (const { fork } of this.#slots) fork?.order({ kind: 'reload' });
  }

  /** SIGUSR2. The coordinator has the audit log, and asks for the upgrade once that has the line. */
  signalUpgrade(): void {
    const { fork } = this.#coordinator;
    if (fork === null) this.#deps.log.warn({}, 'not upgraded: the coordinator is not there; try again');
    else fork.order({ kind: 'upgrade-signalled' });
  }

  /**
   * By processes of the release that is in place now: one worker after the other hands over, and nobody sleeping is closed; where
   * sockets do not pass from process to process, it drains. Of `all`: then the coordinator restarts, when all workers are
   * replaced. One such round at a time; it ends with the worker that could not hand over, and goes on.
   */
  async replace(of: 'workers' | 'all'): Promise<void> {
    if (this.#upgrade.isUnderWay) return;
    const { log } = this.#deps;
    const workers = this.#workers.length;
    log.info({ workers }, 'processes of the release in place take over from the workers, one after another');
    this.#upgraded({ isUnderWay: true, failure: null });
    // It has the code of before: whoever asks for this may have put another release in its place.
    this.#spare.take()?.kill();
    const failure =
      (await this.#replaceWorkers()) ?? (of === 'all' ? await this.#replaceCoordinator() : null);
    this.#upgraded({ isUnderWay: false, failure });
    if (failure !== null) log.error({ reason: failure }, 'not upgraded; the processes of before go on');
    else if (!this.#isStopping) log.info({ workers }, 'the processes of the release in place serve');
  }

  /** Resolves to why one of them goes on; null: none does. */
  async #replaceWorkers(): Promise<string | null> {
    for (const worker of this.#workers) {
      if (this.#isStopping) return null;
      const replaced = await (this.#deps.passesSockets
        ? worker.handOver()
        : worker.replace(this.#deps.stopMsMax));
      if (!replaced.ok) return `process ${worker.facts.process}: ${replaced.error}`;
    }
    return null;
  }

  /** It has no successor beside it: one that cannot start is tried on. Resolves to why; null: it serves. */
  async #replaceCoordinator(): Promise<string | null> {
    if (this.#isStopping) return null;
    const replaced = await this.#coordinator.replace(this.#deps.stopMsMax);
    return replaced.ok ? null : `the coordinator: ${replaced.error}`;
  }

  #upgraded(upgrade: UpgradeState): void {
    this.#upgrade = upgrade;
    this.#notify();
  }

  /** Resolves when all are gone: what workers leave behind, the coordinator has still seen. */
  async stop(): Promise<void> {
    const { stopMsMax } = this.#deps;
    this.#isStopping = true;
    this.#sleepPort.close();
    this.#signalSocket?.close();
    this.#signalSocket = null;
    this.#spare.close();
    this.#notify();
    await Promise.all(this.#workers.map((worker) => worker.stop(stopMsMax)));
    await this.#coordinator.stop(stopMsMax);
    this.#stopHeartbeats();
  }

  /** Ends all of them where they stand. */
  kill(): void {
    this.#spare.close();
    for (const { forks } of this.#slots) for (const fork of forks) fork.kill();
  }

  get #slots(): readonly SupervisorSlot[] {
    return [this.#coordinator, ...this.#workers];
  }

  #slot(process: number): SupervisorSlot {
    const role = process === coordinatorNumber ? 'coordinator' : 'worker';
    return new SupervisorSlot(
      { process, role },
      {
        ...this.#deps,
        fork: () => this.#spare.take() ?? this.#deps.fork(),
        task: (succeeded) => this.#task(process, role, succeeded),
        workerSet: () => this.#workerSet(),
        changed: () => this.#notify(),
        sleepSocketTaken: (number) => this.#sleepPort.taken(number),
        sleepSocketReturned: (by, what) => this.#sleepPort.returned(by, what),
        signalSocket: () => this.#signalSocket,
        wantsReplacement: (of) => {
          this.#asked += 1;
          void this.replace(of);
        },
      },
    );
  }

  #task(process: number, role: ProcessTask['role'], succeeded: MemberId | null): ProcessTask {
    const { node, workers, socketDirectory, listeners } = this.#deps;
    const member = succeeded ?? (`${node}/${process}@${randomUUID()}` as MemberId);
    const isSuccessor = succeeded !== null;
    return { process, role, member, supervisorVersion, isSuccessor, workers, socketDirectory, listeners };
  }

  #workerSet(): WorkerSetState {
    const upgrade = { ...this.#upgrade, asked: this.#asked };
    return { processes: this.#slots.map(({ facts }) => facts), isStopping: this.#isStopping, upgrade };
  }

  #notify(): void {
    const workerSet = this.#workerSet();
    for (const { forks } of this.#slots)
      for (const fork of forks) fork.order({ kind: 'worker-set', workerSet });
    this.#sleepPort.workersChanged();
    const isWhole = workerSet.processes.every(({ state }) => state === 'up');
    if (isWhole && !workerSet.isStopping) this.#spare.prepare();
  }

  #heartbeat(): void {
    for (const slot of this.#slots) slot.heartbeat();
  }
}
