/** How a serving process ends: when it is asked to, when it cannot start, and when something happens that nobody foresaw. */
import { constants } from 'node:os';
import type { Logging } from '../../server/bootstrap/logging.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';

/** What keeps a server from starting is said in a sentence; a mistake of ours keeps its stack. */
export function refuseStart(error: unknown): never {
  if (!(error instanceof Error) || error.name !== 'Error' || error.message.startsWith('invariant'))
    throw error;
  throw new CommandError(error.message, `look this machine over: ${reveilleCommand('doctor')}`);
}

/** Resolves on the first SIGTERM or SIGINT, also while the server starts; the second one ends the process at once. */
export function stopSignal(): Promise<'SIGTERM' | 'SIGINT'> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: 'SIGTERM' | 'SIGINT'): void => {
      if (asked) process.exit(128 + constants.signals[signal]);
      asked = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/** Nobody knows what state the process is in: it says so and goes, and the store is as it was committed. */
export function dieOfTheUnexpected(logging: Logging): void {
  const die = (error: unknown): void => {
    logging.log.error({ err: error }, 'fatal: unexpected error');
    logging.flushNow();
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}
