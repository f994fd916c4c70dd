/**
 * Start and end of a serving process: startup checks, the address of the console, signals, a lost terminal, failed starts, and
 * unexpected errors.
 */
import { constants } from 'node:os';
import { writeFileSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Log } from '../../lib/log.ts';
import { messageOf } from '../../lib/result.ts';
import { openLog, type Logging } from '../../server/bootstrap/logging.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { readRuntimeFile } from '../../server/bootstrap/runtime-file.ts';
import type { CommandContext } from '../shell/command-context.ts';
import {
  findAddressProblems,
  findFileProblems,
  findLimitProblems,
  type StartProblem,
} from '../../server/config/start-checks.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import {
  formatListenAddress,
  parseListenAddress,
  reachableHere,
} from '../../lib/connections/listen-address.ts';
import { refuseDamage } from '../../storage/lmdb/store-damage.ts';

/** Maximum time that resources left open by a failed start may keep the process alive. */
const failedStartMsMax = 1000;
const standardError = 2;
const standardOutput = 1;

/**
 * Throws a sentence that names each file and address that a start could not use, or a damaged store. A process reads the store
 * from the call on, while the caller may load code.
 */
export async function checkStart({
  settings,
  dataDirectory,
}: Pick<CommandContext, 'settings' | 'dataDirectory'>): Promise<void> {
  const reading = refuseDamage(dataDirectory);
  reading.catch(() => undefined);
  // A running server on this directory has the addresses already; opening the store reports that better.
  const isRunning = readRuntimeFile(dataDirectory) !== null;
  const problems = [
    ...findLimitProblems(),
    ...findFileProblems(settings),
    ...(isRunning ? [] : await findAddressProblems(settings)),
  ];
  if (problems.length > 0) await reading.catch(() => undefined);
  refuseProblems(problems);
  await reading;
}

/** As `checkStart`, for the files of a separate media process; its server also receives a listen failure. */
export function checkMediaFiles(settings: Settings): void {
  refuseProblems(findFileProblems(settings).filter(({ setting }) => setting.startsWith('media.')));
}

/** As `checkStart`, for a separate edge; it binds its listener only after its core has answered. */
export function checkEdgeStart(settings: Settings): void {
  const files = findFileProblems(settings).filter(({ setting }) => /^(?:edge|sleep)\./.test(setting));
  refuseProblems([...findLimitProblems(), ...files]);
}

function refuseProblems(problems: readonly StartProblem[]): void {
  if (problems.length === 0) return;
  const sentences = problems.map(({ setting, reason }) => `${setting}: ${reason}`);
  throw new CommandError(sentences.join('\n'), `check this machine: ${reveilleCommand('doctor')}`);
}

/**
 * Rethrows the reason of a failed start, as one sentence or, for a programming error, with its stack. The process exits soon
 * after, even if resources are still open.
 */
export function refuseStart(error: unknown): never {
  setTimeout(() => process.exit(), failedStartMsMax).unref();
  if (!(error instanceof Error) || error.name !== 'Error' || error.message.startsWith('invariant'))
    throw error;
  throw new CommandError(error.message, `check this machine: ${reveilleCommand('doctor')}`);
}

/** Opens the log of a process that serves, and watches for unexpected errors and for the signal to stop. */
export function beginServing(settings: Pick<Settings, 'log'>, isShared = false) {
  const logging = openLog(settings.log, undefined, isShared);
  exitOnUnexpectedErrors(logging);
  return { ...logging, stopping: stopSignal() };
}

type Serving = ReturnType<typeof beginServing>;

/** Serves until the signal to stop; never resolves: the process exits. */
export async function serveUntilStopped(
  { log, close, stopping }: Serving,
  stop: () => Promise<void>,
): Promise<never> {
  const signal = await stopping;
  log.info({ signal }, 'stopping');
  await stop();
  await close();
  process.exit(0);
}

/** Runs what holds connections for a server on another machine; never resolves: the process exits. */
export async function serveElsewhere(
  { log, close, stopping }: Serving,
  holder: { run(): Promise<void>; stop(): Promise<void> | void; reloadTls(): void },
): Promise<never> {
  void stopping.then((signal) => {
    log.info({ signal }, 'stopping');
    void holder.stop();
  });
  onHangup(() => holder.reloadTls());
  await holder.run().catch(refuseStart);
  log.info({}, 'stopped');
  await close();
  process.exit(0);
}

/** Resolves on the first SIGTERM or SIGINT, even during startup; a second one ends the process at once. */
function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let isAsked = false;
    const onSignal = (signal: StopSignal): void => {
      if (isAsked) process.exit(128 + constants.signals[signal]);
      isAsked = true;
      resolve(signal);
    };
    for (const signal of stopSignals) process.on(signal, onSignal);
  });
}

const stopSignals = ['SIGTERM', 'SIGINT'] as const;
type StopSignal = (typeof stopSignals)[number];

/**
 * Calls `reload` on SIGHUP, unless the terminal that showed the log was closed: then the server ends, or its ports would be
 * occupied at the next start.
 */
export function onHangup(reload: () => void): void {
  const hadTerminal = isatty(standardOutput);
  process.on('SIGHUP', () => {
    if (hadTerminal && !isatty(standardOutput)) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

/**
 * Turns each message that a library prints with console, such as LMDB's failed commits, into one log line.
 * LMDB's native part has already written to standard error without a newline; `endLine` adds one there, so that the log line does
 * not continue that line where both streams share a file, as under systemd.
 */
export function logConsole({ log }: Pick<Logging, 'log'>, endLine = endErrorLine): void {
  const toLog = (...said: unknown[]): void => {
    endLine();
    log.warn({ said: said.map(messageOf).join(' ') }, 'library: reported a fault');
  };
  console.error = toLog;
  console.warn = toLog;
}

function endErrorLine(): void {
  try {
    writeSync(standardError, '\n');
  } catch {
    // Standard error has no reader, or is full.
  }
}

/** The state of the process is unknown after an unexpected error: logs it and exits; the store stays as committed. */
export function exitOnUnexpectedErrors(logging: Logging): void {
  logConsole(logging);
  omitFromCoreDumps(logging.log);
  process.on('uncaughtException', (error) => logAndExit(logging, error, 'fatal: unexpected error'));
  process.on('unhandledRejection', (error) => logAndExit(logging, error, 'fatal: unexpected error'));
}

export function logAndExit({ log, flushNow }: Logging, error: unknown, sentence: string): never {
  log.error({ err: error }, sentence);
  flushNow();
  process.exit(1);
}

/** Keeps secrets and calls off the disk after a crash: Linux omits the memory of this process and its children from core dumps. */
function omitFromCoreDumps(log: Log): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch (error) {
    log.warn(
      { error: messageOf(error) },
      'core dumps: memory cannot be excluded: a dump would hold secrets and pictures; disable core dumps',
    );
  }
}

/** Logs the console's address and how to log in; nothing if the console is off. `listeners`: bound addresses. */
export function announceConsole(
  { log }: Pick<Logging, 'log'>,
  listeners: Readonly<Partial<Record<'ops', string>>>,
  { ops, data }: Pick<Settings, 'ops' | 'data'>,
): void {
  const url = ops.console ? consoleUrl(listeners) : null;
  if (url !== null)
    log.info(
      // Settings on the command line may be secrets, so the log names only the data directory.
      { url, login: reveilleCommand('token create NAME --role operator', [['--data-dir', data.dir]]) },
      'console: ready',
    );
}

/** Null: another process has the listener. */
export function consoleUrl({ ops = '' }: Readonly<Partial<Record<'ops', string>>>): string | null {
  const address = parseListenAddress(ops);
  return address === null ? null : `http://${formatListenAddress(reachableHere(address))}/console`;
}
