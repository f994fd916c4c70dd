/** Errors for an ops listener that refuses a request or does not answer. */
import type { IncomingMessage } from 'node:http';
import { kindNames } from '../../storage/registry/registry-kinds.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';

/** The server could not be reached or could not answer now; the request may be retried. */
export class OpsUnavailableError extends CommandError {}

export class MissingError extends CommandError {}

/** A status of 500 or above is not the request's fault. */
export function refusalOf(status: number, message: string): CommandError {
  if (status >= 500) return new OpsUnavailableError(message);
  return status === 404 ? new MissingError(message, adviceToList(message)) : new CommandError(message);
}

const listCommands: readonly (readonly [words: string, command: string])[] = [
  ['live call session', 'calls list'],
  ['token key', 'token-key list'],
  ['token', 'token list'],
  ...kindNames.map((kind) => [kind, `${kind} list`] as const),
];

/** Null: no command lists this kind of object. */
function adviceToList(message: string): string | null {
  const [, command] = listCommands.find(([words]) => message.startsWith(`no ${words} `)) ?? [];
  return command === undefined ? null : `list them: ${reveilleCommand(command)}`;
}

/** Another service answered: a different server at this address, or a proxy in front of it. */
export function noOpsListener({ statusCode: status = 0 }: Pick<IncomingMessage, 'statusCode'>): CommandError {
  const message = `there is no ops listener at this address: HTTP ${status}`;
  const advice = 'check the address in the profile, and the proxy if there is one';
  return status >= 500 ? new OpsUnavailableError(message, advice) : new CommandError(message, advice);
}
