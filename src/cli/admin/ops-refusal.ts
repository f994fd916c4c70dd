/** The ways in which the ops listener of a server refuses a command, or does not answer. */
import type { IncomingMessage } from 'node:http';
import { kindNames } from '../../storage/registry/registry-kinds.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';

/** The server could not be reached, or could not answer now: the request may be sent again. */
export class OpsUnavailableError extends CommandError {}

/** There is no such thing as was asked for. */
export class MissingError extends CommandError {}

/** The error for a refusal; a status of 500 or above is no fault of the request. */
export function refusalOf(status: number, message: string): CommandError {
  if (status >= 500) return new OpsUnavailableError(message);
  return status === 404 ? new MissingError(message, adviceToList(message)) : new CommandError(message);
}

/** The commands that list what may be missing, by the words for it. */
const listCommands: readonly (readonly [words: string, command: string])[] = [
  ['live call session', 'calls list'],
  ['token key', 'token-key list'],
  ['token', 'token list'],
  ...kindNames.map((kind) => [kind, `${kind} list`] as const),
];

/** Null: the missing thing is none that a command lists. */
function adviceToList(message: string): string | null {
  const [, command] = listCommands.find(([words]) => message.startsWith(`no ${words} `)) ?? [];
  return command === undefined ? null : `see which there are: ${reveilleCommand(command)}`;
}

/** For what was answered by something else: another server at the address, or a proxy before it. */
export function noOpsListener({ statusCode: status = 0 }: Pick<IncomingMessage, 'statusCode'>): CommandError {
  const message = `what answers there is no ops listener: HTTP ${status}`;
  const advice = 'look at the address of the profile, and at the proxy where there is one';
  return status >= 500 ? new OpsUnavailableError(message, advice) : new CommandError(message, advice);
}
