/**
 * The first and last words of a serving process: where the console is, and its end on a signal, with its terminal,
 * when it cannot start, and on an unexpected error.
 */
import { constants } from 'node:os';
import { writeFileSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Log } from '../../lib/log.ts';
import { messageOf } from '../../lib/result.ts';
import type { Logging } from '../../server/bootstrap/logging.ts';
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

/** What a start that failed has left open may hold the process no longer. */
const failedStartMsMax = 1000;
/** Its file descriptor. */
const standardError = 2;
const standardOutput = 1;

/** Throws a sentence for each file or address that a start could not use, and for a damaged store. */
export async function checkStart({
  settings,
  dataDirectory,
}: Pick<CommandContext, 'settings' | 'dataDirectory'>): Promise<void> {
  // A server that runs in this directory has the addresses, and the store says so in better words.
  const isRunning = readRuntimeFile(dataDirectory) !== null;
  const problems = [
    ...findLimitProblems(),
    ...findFileProblems(settings),
    ...(isRunning ? [] : await findAddressProblems(settings)),
  ];
  refuseProblems(problems);
  return refuseDamage(dataDirectory);
}

/** The same of the files of a media process alone; whether it can listen its server is told, too. */
export function checkMediaFiles(settings: Settings): void {
  refuseProblems(findFileProblems(settings).filter(({ setting }) => setting.startsWith('media.')));
}

/** The same of an edge alone: whether it can listen shows once its core has answered. */
export function checkEdgeStart(settings: Settings): void {
  const files = findFileProblems(settings).filter(({ setting }) => /^(?:edge|sleep)\./.test(setting));
  refuseProblems([...findLimitProblems(), ...files]);
}

function refuseProblems(problems: readonly StartProblem[]): void {
  if (problems.length === 0) return;
  const sentences = problems.map(({ setting, reason }) => `${setting}: ${reason}`);
  throw new CommandError(sentences.join('\n'), `look this machine over: ${reveilleCommand('doctor')}`);
}

/**
 * Rethrows why a server cannot start: as one sentence, or with the stack of a programming error. The process ends soon
 * after, whatever was opened by then.
 */
export function refuseStart(error: unknown): never {
  setTimeout(() => process.exit(), failedStartMsMax).unref();
  if (!(error instanceof Error) || error.name !== 'Error' || error.message.startsWith('invariant'))
    throw error;
  throw new CommandError(error.message, `look this machine over: ${reveilleCommand('doctor')}`);
}

/** Resolves on the first SIGTERM or SIGINT, also while the server starts; another one ends the process at once. */
export function stopSignal(): Promise<StopSignal> {
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
 * Calls `reload` on SIGHUP, unless the terminal that showed the log is gone: whoever closed it expects that the server
 * ends, and without it would find the ports taken at the next start.
 */
export function onHangup(reload: () => void): void {
  const hadTerminal = isatty(standardOutput);
  process.on('SIGHUP', () => {
    if (hadTerminal && !isatty(standardOutput)) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

/**
 * Libraries print their faults, LMDB each commit that it could not make with its stack: each becomes one line of the log. The
 * native part of LMDB has then printed on standard error by itself, without a line's end, and where both streams go to one
 * place, as under systemd, the line of the log would stand behind it. `endLine` of standard error.
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
    // Nobody reads it, or it is full.
  }
}

/** The state of the process is unknown then: it logs the error and exits, and the store is as committed. */
export function dieOfTheUnexpected(logging: Logging): void {
  logConsole(logging);
  emptyCoreDumps(logging.log);
  process.on('uncaughtException', (error) => dieLogging(logging, error, 'fatal: unexpected error'));
  process.on('unhandledRejection', (error) => dieLogging(logging, error, 'fatal: unexpected error'));
}

export function dieLogging({ log, flushNow }: Logging, error: unknown, sentence: string): never {
  log.error({ err: error }, sentence);
  flushNow();
  process.exit(1);
}

/**
 * A crash must put no secret and no call on a disk: Linux leaves the memory of this process, and of those that it starts, out of a
 * core dump.
 */
function emptyCoreDumps(log: Log): void {
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

/** Where people look on and how they log in; nothing where the console is off. `listeners`: real addresses. */
export function announceConsole(
  { log }: Pick<Logging, 'log'>,
  listeners: Readonly<Partial<Record<'ops', string>>>,
  { ops, data }: Pick<Settings, 'ops' | 'data'>,
): void {
  const url = ops.console ? consoleUrl(listeners) : null;
  if (url !== null)
    log.info(
      // Settings of the command line may be secrets, which no log may have: the directory is enough.
      { url, login: reveilleCommand('token create NAME --role operator', [['--data-dir', data.dir]]) },
      'console: ready',
    );
}

/** Null: another process has the listener. */
export function consoleUrl({ ops = '' }: Readonly<Partial<Record<'ops', string>>>): string | null {
  const address = parseListenAddress(ops);
  return address === null ? null : `http://${formatListenAddress(reachableHere(address))}/console`;
}
