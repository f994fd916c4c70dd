/**
 * One process of `reveille serve --processes N`. It loads its code before the supervisor assigns its task, and reports why
 * it cannot start to the supervisor, which logs that. When the supervisor is gone it ends its sessions and stops at once. Source: cluster.md, Several processes on one machine.
 */
import { assert } from '../../lib/assert.ts';
import { messageOf } from '../../lib/result.ts';
import { processStopMsMax } from '../../model/limits.ts';
import { openLog, type Logging } from '../../server/bootstrap/logging.ts';
import { followSupervisor, reportToSupervisor } from '../../server/supervisor/process-channel.ts';
import type { LentPort } from '../../server/supervisor/worker-set.ts';
import type { WorkerSetState, ProcessTask } from '../../server/supervisor/process-messages.ts';
import { settingsOfProcess } from '../../server/config/derived-settings.ts';
import type { RunningServer, ServerDeps } from '../../server/bootstrap/server.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { demoNotice, dieOfTheUnexpected } from './serving-end.ts';

export async function serveSupervised(context: CommandContext): Promise<void> {
  const { startServer } = await import('../../server/bootstrap/server.ts');
  new Supervised(context, startServer).follow();
}

type StartServer = (settings: Settings, deps: ServerDeps) => Promise<RunningServer>;

class Supervised {
  readonly #context: CommandContext;
  readonly #startServer: StartServer;
  #logging: Logging | null = null;
  /** Null: the supervisor has not assigned a task yet. */
  #starting: Promise<RunningServer> | null = null;
  #workerSet: WorkerSetState = { processes: [], isStopping: false };
  #onWorkerSet: (workerSet: WorkerSetState) => void = () => undefined;
  #sleepPort: LentPort | null = null;
  #isEnding = false;

  constructor(context: CommandContext, startServer: StartServer) {
    this.#context = context;
    this.#startServer = startServer;
  }

  follow(): void {
    followSupervisor({
      begin: (task, workerSet) => this.#begin(task, workerSet),
      workerSet: (workerSet) => this.#changeWorkerSet(workerSet),
      reload: () => void this.#starting?.then((server) => server.reload()),
      restartWorkers: () => void this.#starting?.then((server) => server.restartWorkers()),
      stop: () => this.#end(false),
      sleepSocket: (loan, back) => this.#lentPort.sockets.borrow(loan, back),
      sleepSocketsBack: () => this.#lentPort.sockets.giveBack(),
      sleepCounts: () => this.#sleepPort?.counts ?? { open: 0, taken: 0 },
      alone: () => {
        this.#logging?.log.error({}, 'the supervisor is gone; this process stops');
        this.#end(true);
      },
    });
  }

  #begin(task: ProcessTask, workerSet: WorkerSetState): void {
    const { settings, clock, dataDirectory } = this.#context;
    const logging = openLog(settings.log, undefined, task.process);
    this.#logging = logging;
    dieOfTheUnexpected(logging);
    this.#workerSet = workerSet;
    const handle = {
      task,
      follow: (onWorkerSet: (workerSet: WorkerSetState) => void) => {
        this.#onWorkerSet = onWorkerSet;
        onWorkerSet(this.#workerSet);
      },
      report: reportToSupervisor,
      sleepPort: (port: LentPort) => {
        this.#sleepPort = port;
      },
    };
    const { log, announce } = logging;
    this.#starting = this.#startServer(settingsOfProcess(settings, task), { clock, log, announce, handle });
    this.#starting.then(
      ({ listeners, demo }) => {
        if (demo !== null) process.stderr.write(demoNotice(demo, dataDirectory, listeners));
        const real = Object.entries(listeners).filter(([, address]) => address !== '');
        reportToSupervisor({ kind: 'ready', listeners: Object.fromEntries(real) });
      },
      (error: unknown) => this.#refuse(logging, error),
    );
  }

  get #lentPort(): LentPort {
    assert(this.#sleepPort !== null, 'a worker that is up has a sleep port');
    return this.#sleepPort;
  }

  #changeWorkerSet(workerSet: WorkerSetState): void {
    this.#workerSet = workerSet;
    this.#onWorkerSet(workerSet);
  }

  /** Reports a sentence to the supervisor; the stack of a programming error is in the log. */
  #refuse({ log, flushNow }: Logging, error: unknown): void {
    log.error({ err: error }, 'this process cannot start');
    flushNow();
    reportToSupervisor({ kind: 'failed', reason: messageOf(error) }, () => process.exit(1));
  }

  #end(isHurried: boolean): void {
    if (isHurried) setTimeout(() => process.exit(1), processStopMsMax).unref();
    if (this.#isEnding) return;
    this.#isEnding = true;
    void this.#stop(isHurried).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  }

  async #stop(isHurried: boolean): Promise<void> {
    const server = await this.#starting;
    await server?.stop(isHurried);
    await this.#logging?.close();
  }
}
