/**
 * The server of one process of several, once that has its task: how it starts, by itself or as the successor of another, hands over
 * and stops. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import { messageOf } from '../../lib/result.ts';
import type { SleepCounts } from '../../edge/sleep-sockets.ts';
import { openLog, type Logging } from '../../server/bootstrap/logging.ts';
import { askSignalSocket, reportToSupervisor } from '../../server/supervisor/process-channel.ts';
import type { LentPort, WorkerHandle } from '../../server/supervisor/worker-set.ts';
import {
  supervisorVersion,
  type ProcessTask,
  type UpgradeState,
  type WorkerSetState,
} from '../../server/supervisor/process-messages.ts';
import { settingsOfProcess } from '../../server/config/derived-settings.ts';
import type { RunningServer, StartServer } from '../../server/bootstrap/server.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import { Predecessor } from '../../server/upgrade/predecessor.ts';
import type { TakeOver } from '../../server/upgrade/server-hand-over.ts';
import { LinkedSuccessor } from '../../server/upgrade/successor.ts';
import {
  type SupervisedPredecessorLine,
  SupervisedSuccessorLine,
} from '../../server/upgrade/supervised-lines.ts';
import { Upgrade } from '../../server/upgrade/upgrade.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { checkStart, dieLogging, dieOfTheUnexpected } from './serving-end.ts';

interface Assignment {
  readonly task: ProcessTask;
  readonly workerSet: WorkerSetState;
}

/** Once it has its task. */
export class SupervisedServer {
  readonly logging: Logging;
  sleepPort: LentPort | null = null;
  /** The way to the process that this one hands over to. */
  successor: SupervisedSuccessorLine | null = null;
  readonly #context: CommandContext;
  readonly #startServer: StartServer;
  readonly #task: ProcessTask;
  readonly #settings: Settings;
  readonly #upgrade: Upgrade;
  #starting: Promise<void> = Promise.resolve();
  #workerSet: WorkerSetState;
  #onWorkerSet: (workerSet: WorkerSetState) => void = () => undefined;
  /** The number of upgrades that had been asked for when this process asked for one; null: it did not. */
  #askedBefore: number | null = null;

  constructor(context: CommandContext, startServer: StartServer, { task, workerSet }: Assignment) {
    const { settings, clock, dataDirectory } = context;
    this.logging = openLog(settings.log, undefined, { process: task.process });
    dieOfTheUnexpected(this.logging);
    this.#context = context;
    this.#startServer = startServer;
    this.#task = task;
    this.#settings = settingsOfProcess(settings, task);
    this.#workerSet = workerSet;
    this.#upgrade = new Upgrade({
      clock,
      log: this.logging.log,
      dataDirectory,
      listeners: task.listeners,
      obstacle: null,
      startSuccessor: () => new LinkedSuccessor(clock, (this.successor = new SupervisedSuccessorLine())),
      restart: (takeOver) => this.#serve(this.#settings, takeOver),
      handedOver: () => undefined,
      failed: (error) => dieLogging(this.logging, error, 'fatal: the old process cannot continue'),
    });
  }

  /** `line`: to the process that it succeeds; null: it begins with nothing. */
  start(line: SupervisedPredecessorLine | null): void {
    const predecessor = line === null ? null : new Predecessor(line, () => process.exit(1));
    this.#starting = this.#begin(predecessor);
    this.#starting.catch((error: unknown) => this.#refuse(predecessor, error));
  }

  get sleepCounts(): SleepCounts {
    return this.sleepPort?.counts ?? { open: 0, taken: 0 };
  }

  changeWorkerSet(workerSet: WorkerSetState): void {
    this.#workerSet = workerSet;
    this.#onWorkerSet(workerSet);
  }

  /** Resolves, once it has started, to its server; null: another process has it, or is about to. */
  async serving(): Promise<RunningServer | null> {
    await this.#starting;
    return this.#upgrade.server;
  }

  /** To another process of the release that is in place now; this one ends then. Reports why it goes on, if it does. */
  async handOver(): Promise<void> {
    const begun = this.#upgrade.begin();
    await this.#upgrade.settled();
    const reason = begun.ok ? this.#upgrade.state.failure : begun.error;
    if (reason !== null) return reportToSupervisor({ kind: 'not-handed-over', reason });
    await this.logging.close();
    process.exit(0);
  }

  async stop(isHurried: boolean): Promise<void> {
    await this.#starting;
    this.#upgrade.giveUp();
    await this.#upgrade.settled();
    await this.#upgrade.server?.stop(isHurried);
    await this.logging.close();
  }

  async #begin(predecessor: Predecessor | null): Promise<void> {
    if (this.#task.supervisorVersion !== supervisorVersion)
      throw new Error('the new release takes no orders from this one: stop the server, and start it');
    if (predecessor === null) {
      this.#upgrade.serve(await this.#serve(this.#settings, null));
      return;
    }
    await checkStart(this.#context);
    predecessor.loaded(this.#context.dataDirectory);
    const { settings, takeOver } = await predecessor.inherit(this.#settings);
    const server = await this.#serve(settings, takeOver);
    this.#upgrade.serve(server);
    predecessor.serve(server, server.adopted);
  }

  async #serve(settings: Settings, takeOver: TakeOver | null): Promise<RunningServer> {
    const { log, announce } = this.logging;
    const server = await this.#startServer(settings, {
      configured: this.#context.configured,
      clock: this.#context.clock,
      log,
      announce,
      handle: this.#handle,
      ...(takeOver !== null && { takeOver }),
    });
    const real = Object.entries(server.listeners).filter(([, address]) => address !== '');
    reportToSupervisor({ kind: 'ready', listeners: Object.fromEntries(real), sleep: this.sleepCounts });
    return server;
  }

  get #handle(): WorkerHandle {
    return {
      task: this.#task,
      follow: (onWorkerSet) => {
        this.#onWorkerSet = onWorkerSet;
        onWorkerSet(this.#workerSet);
      },
      report: (report) => {
        if (report.kind === 'upgrade') this.#askedBefore = this.#workerSet.upgrade.asked;
        reportToSupervisor(report);
      },
      upgrade: () => this.#upgradeOfAll,
      sleepPort: (port) => void (this.sleepPort = port),
      signalSocket: askSignalSocket,
      followProgress: (progress) =>
        void progress.onSign(() => reportToSupervisor({ kind: 'heartbeat', sleep: this.sleepCounts })),
    };
  }

  /** An upgrade that this process asked for is under way before the supervisor says so. */
  get #upgradeOfAll(): UpgradeState {
    const { asked, isUnderWay, failure } = this.#workerSet.upgrade;
    return { isUnderWay: isUnderWay || this.#askedBefore === asked, failure };
  }

  /** Reports a sentence; the stack of a programming error is in the log. */
  #refuse(predecessor: Predecessor | null, error: unknown): void {
    const { log, flushNow } = this.logging;
    log.error({ err: error }, 'this process cannot start');
    flushNow();
    const end = (): void => process.exit(1);
    if (predecessor === null) reportToSupervisor({ kind: 'failed', reason: messageOf(error) }, end);
    else predecessor.fail(messageOf(error), end);
  }
}
