/** The ends of a serving process: on a signal, when it cannot start, and on an unexpected error. */
import { constants } from 'node:os';
import type { Logging } from '../../server/bootstrap/logging.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';

/** Rethrows why a server cannot start: as one sentence, or with the stack of a programming error. */
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

/** The state of the process is unknown then: it logs the error and exits, and the store is as committed. */
export function dieOfTheUnexpected(logging: Logging): void {
  const die = (error: unknown): void => {
    logging.log.error({ err: error }, 'fatal: unexpected error');
    logging.flushNow();
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}
