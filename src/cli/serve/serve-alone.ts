/**
 * `reveille serve` as one process, and its upgrades: SIGUSR2 or `reveille upgrade` starts the release that is in its place
 * now, which goes on with the sleep sessions. The process that was started first stays until the end, so that whoever
 * watches it, a service manager, a container or a shell, sees one process: it passes signals on, and does no more. Source:
 * running.md, Stopping; docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import { pause, type Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import { openLog, type Logging } from '../../server/bootstrap/logging.ts';
import type { RunningServer, StartServer } from '../../server/bootstrap/server.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import { listenerNames } from '../../server/config/settings-schema.ts';
import { withRealPorts } from '../../server/supervisor/process-ports.ts';
import type { ProcessTask } from '../../server/supervisor/process-messages.ts';
import { parentLine, Predecessor } from '../../server/upgrade/predecessor.ts';
import type { TakeOver } from '../../server/upgrade/server-hand-over.ts';
import { startSuccessor } from '../../server/upgrade/successor.ts';
import { Upgrade } from '../../server/upgrade/upgrade.ts';
import { livingPid, wasLeftLocked } from '../../storage/lmdb/data-directory.ts';
import type { FirstSecrets } from '../init/first-entries.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { firstStartNotice, seedFirstStart } from './first-start.ts';
import { successorFlag } from './serve-flags.ts';
import {
  announceConsole,
  checkStart,
  consoleUrl,
  dieLogging,
  dieOfTheUnexpected,
  onHangup,
  refuseStart,
  stopSignal,
  stopSignals,
  type StopSignal,
} from './serving-end.ts';

/** Who stops a service may tell each of its processes, and the one that was started first tells its successor, too. */
const sameSignalMs = 500;

/** `isDemoAsked`: an empty store gets entries to try. */
export async function serveAlone(
  context: CommandContext,
  isSuccessor: boolean,
  isDemoAsked: boolean,
): Promise<void> {
  const logging = openLog(context.settings.log);
  dieOfTheUnexpected(logging);
  const stopping = stopSignal(context.clock, isSuccessor ? sameSignalMs : 0);
  const predecessor = isSuccessor ? new Predecessor(parentLine(), () => process.exit(1)) : null;
  // Loaded only here, since the other commands run without the front end's binary, and while the checks run.
  const loading = import('../../server/bootstrap/server.ts');
  loading.catch(() => undefined);
  try {
    await checkStart(context);
    const { startServer } = await loading;
    const first = isSuccessor ? null : await seedFirstStart(context, isDemoAsked, logging.log);
    const { settings, takeOver } = await begin(context, predecessor);
    const alone = new AloneServer(context, settings, logging, startServer);
    await alone.start(takeOver, predecessor, first);
    await alone.serve(stopping, isSuccessor);
  } catch (error) {
    if (predecessor === null) throw error;
    logging.flushNow();
    await new Promise<void>((resolve) => predecessor.fail(messageOf(error), resolve));
    throw error;
  }
}

interface Beginning {
  /** With real ports. */
  readonly settings: Settings;
  readonly takeOver: TakeOver | null;
}

async function begin(
  { settings, dataDirectory }: CommandContext,
  predecessor: Predecessor | null,
): Promise<Beginning> {
  if (predecessor !== null) {
    predecessor.loaded(dataDirectory);
    return predecessor.inherit(settings);
  }
  // A successor listens on the same ports.
  return { settings: await withRealPorts(settings), takeOver: null };
}

class AloneServer {
  readonly #context: CommandContext;
  readonly #settings: Settings;
  readonly #logging: Logging;
  readonly #startServer: StartServer;
  readonly #upgrade: Upgrade;
  #handedOver: () => void = () => undefined;
  readonly #isHandedOver = new Promise<null>((resolve) => (this.#handedOver = () => resolve(null)));

  constructor(context: CommandContext, settings: Settings, logging: Logging, startServer: StartServer) {
    this.#context = context;
    this.#settings = settings;
    this.#logging = logging;
    this.#startServer = startServer;
    const { clock, dataDirectory } = context;
    const { log } = logging;
    this.#upgrade = new Upgrade({
      clock,
      log,
      dataDirectory,
      listeners: Object.fromEntries(
        listenerNames.map((name) => [name, settings[name].listen]),
      ) as ProcessTask['listeners'],
      obstacle: obstacleOf(settings),
      startSuccessor: () => startSuccessor(clock, process.argv[1] ?? '', successorArguments()),
      restart: (takeOver) => this.#serverOf(takeOver),
      handedOver: () => this.#handedOver(),
      failed: (error) => dieLogging(logging, error, 'fatal: the old release cannot continue'),
    });
  }

  /** `first`: the secrets that are shown once. */
  async start(
    takeOver: TakeOver | null,
    predecessor: Predecessor | null,
    first: FirstSecrets | null,
  ): Promise<void> {
    const server = await this.#serverOf(takeOver).catch(refuseStart);
    this.#upgrade.serve(server);
    const { announce } = this.#logging;
    announce({ listeners: server.listeners }, 'ready');
    announceConsole(this.#logging, server.listeners, this.#settings);
    predecessor?.serve(server, server.adopted);
    if (first !== null)
      process.stderr.write(
        firstStartNotice(first, this.#context.dataDirectory, consoleUrl(server.listeners)),
      );
    onHangup(() => void this.#upgrade.server?.reload());
    process.on('SIGUSR2', () => void this.#upgrade.server?.signalUpgrade());
  }

  /** Resolves never: the process ends. */
  async serve(stopping: Promise<StopSignal>, isSuccessor: boolean): Promise<void> {
    const signal = await Promise.race([stopping, this.#isHandedOver]);
    if (signal !== null) await this.#stop(signal);
    // Whoever started the first of them has that to look at.
    if (!isSuccessor) return standBy(this.#context, stopping, this.#logging);
    await this.#upgrade.settled();
    await this.#logging.close();
    process.exit(0);
  }

  /** An upgrade that cannot be given up is waited for: the server is here then, or at the successor. */
  async #stop(signal: StopSignal): Promise<void> {
    const { log } = this.#logging;
    log.info({ signal }, 'stopping');
    this.#upgrade.giveUp();
    await Promise.race([this.#upgrade.settled(), this.#isHandedOver]);
    const { server } = this.#upgrade;
    if (server === null) return forward(this.#context.dataDirectory, signal);
    await server.stop();
    await this.#logging.close();
    process.exit(0);
  }

  #serverOf(takeOver: TakeOver | null): Promise<RunningServer> {
    const { log, announce } = this.#logging;
    return this.#startServer(this.#settings, {
      handle: null,
      configured: this.#context.configured,
      clock: this.#context.clock,
      log,
      announce,
      upgrade: this.#upgrade,
      ...(takeOver !== null && { takeOver }),
    });
  }
}

function obstacleOf({ cluster }: Settings): string | null {
  if (process.platform === 'win32')
    return 'this system passes no sockets from one process to another: stop the server, and start it';
  if (cluster.nats_url !== null)
    return 'a node of a cluster over NATS is not upgraded in place: restart the nodes one after the other';
  return null;
}

function successorArguments(): string[] {
  const args = process.argv.slice(2).filter((arg) => arg !== successorFlag);
  return [...args, successorFlag];
}

/** The lock of the directory is looked at so often. */
const lookMs = 250;
/** A lock whose process is gone belongs to nobody after so long; before that a predecessor may take it back. */
const leftMsMax = 2000;

/** Until the server of the directory, whichever process that is, has stopped. */
async function standBy(
  { clock, dataDirectory }: Pick<CommandContext, 'clock' | 'dataDirectory'>,
  stopping: Promise<StopSignal>,
  logging: Logging,
): Promise<void> {
  logging.log.info({}, 'this process stays, and passes signals on to the server');
  for (const signal of stopSignals) process.removeAllListeners(signal);
  for (const signal of [...stopSignals, 'SIGHUP', 'SIGUSR2'] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => forward(dataDirectory, signal));
  }
  void stopping.then((signal) => forward(dataDirectory, signal));
  const isCrashed = await serverEnded(clock, dataDirectory);
  if (isCrashed) logging.log.error({}, 'fatal: the server is gone');
  await logging.close();
  process.exit(isCrashed ? 1 : 0);
}

/** Resolves to whether it has left its lock behind. */
async function serverEnded(clock: Clock, dataDirectory: string): Promise<boolean> {
  let goneMs = 0;
  for (;;) {
    await pause(clock, lookMs);
    if (livingPid(dataDirectory) !== null) goneMs = 0;
    else if (!wasLeftLocked(dataDirectory)) return false;
    else if (goneMs >= leftMsMax) return true;
    else goneMs += lookMs;
  }
}

function forward(dataDirectory: string, signal: NodeJS.Signals): void {
  const pid = livingPid(dataDirectory);
  if (pid === null || pid === process.pid) return;
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, which is seen in a moment.
  }
}
