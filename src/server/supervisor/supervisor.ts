/**
 * Several server processes as one: the supervisor starts the keeper, then the workers, tells everybody who lives,
 * notices who does not answer any more, and stops them in order, workers first. It holds nothing that a device or a
 * caller needs: what it starts goes on without it for as long as it is slow. Source: cluster.md, Several processes on one machine.
 */
import { randomUUID } from 'node:crypto';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { MemberId } from '../../model/cluster.ts';
import { processBeatMs } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import {
  keeperNumber,
  type ListenerName,
  type ProcessCompanyFacts,
  type ProcessFork,
  type ProcessTask,
} from './process-messages.ts';
import type { SleepHands } from './supervisor-sleep-hands.ts';
import type { SupervisorSleepPort } from './supervisor-sleep-port.ts';
import { SupervisorSlot } from './supervisor-slot.ts';
import { SupervisorSpare } from './supervisor-spare.ts';

export interface SupervisorHouse {
  readonly clock: Clock;
  readonly log: Log;
  /** Of the machine, in events. */
  readonly node: string;
  /** How many, from 1 on. */
  readonly workers: number;
  readonly socketDirectory: string;
  readonly listeners: ProcessTask['listeners'];
  /** How long one that is told to stop may take. */
  readonly stopMsMax: number;
  /** Throws when the machine has no process to give. */
  fork(): ProcessFork;
  /** For connections to be spread over `workers`. */
  openSleepPort(workers: () => readonly SleepHands[]): SleepPort;
}

export type SleepPort = Pick<SupervisorSleepPort, 'listen' | 'give' | 'report' | 'close'>;

export class Supervisor {
  readonly #house: SupervisorHouse;
  readonly #spare: SupervisorSpare;
  readonly #keeper: SupervisorSlot;
  readonly #workers: readonly SupervisorSlot[];
  readonly #sleepPort: SleepPort;
  #stopBeating: Cancel = () => undefined;
  #isStopping = false;
  #isRestarting = false;

  constructor(house: SupervisorHouse) {
    this.#house = house;
    this.#spare = new SupervisorSpare(house);
    this.#sleepPort = house.openSleepPort(() => this.#workers.flatMap(({ takers }) => takers));
    this.#keeper = this.#slot(keeperNumber);
    this.#workers = Array.from({ length: house.workers }, (_, index) => this.#slot(keeperNumber + 1 + index));
  }

  /** Resolves when all are up. Rejects with a sentence for the operator, and with nobody left, when one cannot start. */
  async start(): Promise<void> {
    this.#stopBeating = this.#house.clock.every(processBeatMs, () => this.#beat());
    try {
      await this.#keeper.start();
      if (!this.#isStopping) await Promise.all(this.#workers.map((worker) => worker.start()));
      if (!this.#isStopping) await this.#sleepPort.listen(this.#house.listeners.sleep);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Real addresses, by name; once all are up. */
  get listeners(): Readonly<Partial<Record<ListenerName, string>>> {
    return { ...this.#workers[0]?.listeners, ...this.#keeper.listeners };
  }

  reload(): void {
    for (const { fork } of this.#slots) fork?.order({ kind: 'reload' });
  }

  /** SIGUSR2. The keeper has the audit log, and asks for the restart once that has the line. */
  signalRestart(): void {
    const { fork } = this.#keeper;
    if (fork === null)
      this.#house.log.warn({}, 'workers are not restarted: the keeper is not there; try again');
    else fork.order({ kind: 'restart-signalled' });
  }

  /** One worker after the other: drained, then waited for until another is up in its place. One such round at a time. */
  async restartWorkers(): Promise<void> {
    if (this.#isRestarting) return;
    this.#isRestarting = true;
    const { log, stopMsMax } = this.#house;
    log.info({ workers: this.#workers.length }, 'workers are restarted one after another');
    for (const worker of this.#workers) if (!this.#isStopping) await worker.replace(stopMsMax);
    if (!this.#isStopping) log.info({ workers: this.#workers.length }, 'workers are restarted');
    this.#isRestarting = false;
  }

  /** Resolves when everybody is gone: what workers leave behind, the keeper has still seen. */
  async stop(): Promise<void> {
    const { stopMsMax } = this.#house;
    this.#isStopping = true;
    this.#sleepPort.close();
    this.#spare.close();
    this.#tell();
    await Promise.all(this.#workers.map((worker) => worker.stop(stopMsMax)));
    await this.#keeper.stop(stopMsMax);
    this.#stopBeating();
  }

  /** Ends everybody where they stand. */
  kill(): void {
    this.#spare.close();
    for (const { fork } of this.#slots) fork?.kill();
  }

  get #slots(): readonly SupervisorSlot[] {
    return [this.#keeper, ...this.#workers];
  }

  #slot(process: number): SupervisorSlot {
    const role = process === keeperNumber ? 'keeper' : 'worker';
    return new SupervisorSlot(
      { process, role },
      {
        ...this.#house,
        fork: () => this.#spare.takeOrFork(),
        task: () => this.#task(process, role),
        company: () => this.#company(),
        changed: () => this.#tell(),
        given: (socket) => this.#sleepPort.give(socket),
        wantsRestartOfWorkers: () => void this.restartWorkers(),
      },
    );
  }

  #task(process: number, role: ProcessTask['role']): ProcessTask {
    const { node, workers, socketDirectory, listeners } = this.#house;
    const member = `${node}/${process}@${randomUUID()}` as MemberId;
    return { process, role, member, workers, socketDirectory, listeners };
  }

  #company(): ProcessCompanyFacts {
    return { processes: this.#slots.map(({ facts }) => facts), isStopping: this.#isStopping };
  }

  #tell(): void {
    const company = this.#company();
    for (const { fork } of this.#slots) fork?.order({ kind: 'company', company });
    const isWhole = company.processes.every(({ state }) => state === 'up');
    if (isWhole && !company.isStopping) this.#spare.prepare();
  }

  #beat(): void {
    for (const slot of this.#slots) slot.beat();
    this.#sleepPort.report();
  }
}
